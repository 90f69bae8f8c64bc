import BackstitchCore
import BackstitchLog
public import Foundation

extension DataMigration {
    /// What a store remembers of a data migration.
    public struct Record: Hashable, Sendable {
        /// The migration's name.
        public let name: String
        /// When it was done; nil if it is under way, because the process that made it ended.
        public let date: Date?
        /// The number of records that it visited; 0 if it was one transaction.
        public let recordCount: Int
    }
}

extension Store {
    /// The data migrations of the store.
    public var migrations: DataMigration.History { DataMigration.History(store: self) }
}

extension DataMigration {
    /// The data migrations that a store has, and those that it can make again.
    public struct History: Sendable {
        let store: Store

        /// The data migrations that the store has, also those of other versions of the program, in the order of
        /// their names.
        ///
        /// - Throws: `closed`; `damaged` or `newerFormat` if one can't be read.
        public func records() throws -> [DataMigration.Record] {
            try store.read { transaction in
                try transaction.reader.meta.dataMigrations().map { name, state in
                    DataMigration.Record(
                        name: name,
                        date: state.progress == .done
                            ? Date(milliseconds: state.milliseconds) : nil,
                        recordCount: Int(clamping: state.recordCount))
                }
            }
        }

        /// Makes a data migration of the configuration again, from the beginning: for records that an older
        /// version of the program wrote since, on this device or on another, or that an import brought.
        ///
        /// It blocks the calling thread until it is done. If the process ends in a migration in parts, the next
        /// opening goes on with it.
        ///
        /// - Throws: `notFound` if the store was opened without it; `migrationFailed`; `nestedWrite` inside a read or
        ///   write of the store.
        public func repeatMigration(named name: String) throws {
            guard
                let migration = store.configuration.dataMigrations.first(where: { $0.name == name })
            else {
                throw StoreError(
                    .notFound,
                    "The store was opened without the data migration '\(name)'. Name it in "
                        + "StoreConfiguration.dataMigrations.")
            }
            try DataMigrationRun(store).repeatAll(of: migration)
        }
    }
}
