import BackstitchCore
import BackstitchLog
import Foundation

/// Makes the data migrations that a store does not have yet.
struct DataMigrationRun {
    private let store: Store
    private var clock: any StoreClock { store.configuration.clock }

    init(_ store: Store) { self.store = store }

    /// Makes those of the configuration, in its order.
    ///
    /// - Throws: `migrationFailed` if one throws: it has left nothing, or finished parts only, and those
    ///   after it were not begun.
    func runPending() throws {
        for migration in store.configuration.dataMigrations {
            try run(migration)
        }
    }

    /// Makes one again, from the beginning.
    func repeatAll(of migration: DataMigration) throws {
        if case .parts(let parts) = migration.step {
            try store.write { transaction in
                let meta = transaction.reader.meta
                guard try meta.dataMigration(migration.name)?.progress == .done else { return }
                try transaction.log.deleteMeta(MetaName.dataMigration(migration.name))
                try begin(migration, parts, in: transaction)
            }
            try run(migration)
        } else {
            try run(migration, isRepeated: true)
        }
    }

    private func run(_ migration: DataMigration, isRepeated: Bool = false) throws {
        // Most openings find nothing to do, and should not write.
        let known = try store.read { try $0.reader.meta.dataMigration(migration.name) }
        guard known?.progress != .done || isRepeated else { return }
        let start = clock.now
        do {
            switch migration.step {
            case .whole(let change):
                try runWhole(migration, change, isRepeated: isRepeated)
            case .parts(let parts):
                while try runPart(of: migration, parts) {}
            }
        } catch {
            let failure = Self.failure(error, migration.name)
            tell(migration, since: start, failure.code.description)
            throw failure
        }
        tell(migration, since: start, nil)
    }

    private func tell(_ migration: DataMigration, since start: Date, _ error: String?) {
        guard let monitor = store.configuration.monitor else { return }
        let state = try? store.read { try $0.reader.meta.dataMigration(migration.name) }
        monitor(
            MonitorEvent(
                "store.dataMigration", date: clock.now, since: start,
                counts: ["records": Int(clamping: state?.recordCount ?? 0)], error: error))
    }

    /// Whether another process made it meanwhile is seen in the transaction that would make it.
    private func runWhole(
        _ migration: DataMigration,
        _ change: @Sendable (borrowing WriteTransaction) throws -> Void, isRepeated: Bool
    ) throws {
        try store.write(context: Self.context(migration)) { transaction in
            let state = try transaction.reader.meta.dataMigration(migration.name)
            guard state?.progress != .done || isRepeated else { return }
            try change(transaction)
            try note(.done, of: migration, 0, in: transaction)
        }
    }

    /// Makes a part; processes that do so at once take turns.
    ///
    /// - Returns: whether there are more.
    private func runPart(of migration: DataMigration, _ parts: DataMigration.Parts) throws -> Bool {
        try store.write(context: Self.context(migration)) { transaction in
            guard let state = try transaction.reader.meta.dataMigration(migration.name) else {
                return try begin(migration, parts, in: transaction)
            }
            guard case .underWay(let last, let end) = state.progress else { return false }
            let keys = try self.keys(of: parts, after: last, through: end, transaction.reader)
            for key in keys { try parts.change(transaction, key) }
            let count = state.recordCount + UInt64(keys.count)
            guard let reached = keys.last, reached != end else {
                try note(.done, of: migration, count, in: transaction)
                return false
            }
            try note(
                .underWay(last: reached, end: end), of: migration, count, in: transaction)
            return true
        }
    }

    /// Notes up to which record a migration goes: records that it inserts with later keys are not
    /// visited, so it comes to an end.
    ///
    /// - Returns: whether there is any record.
    @discardableResult
    private func begin(
        _ migration: DataMigration, _ parts: DataMigration.Parts,
        in transaction: borrowing WriteTransaction
    ) throws -> Bool {
        guard let end = try lastKey(of: parts, transaction.reader) else {
            try note(.done, of: migration, 0, in: transaction)
            return false
        }
        try note(
            .underWay(last: nil, end: end), of: migration, 0, in: transaction)
        return true
    }

    private func note(
        _ progress: DataMigrationState.Progress, of migration: DataMigration, _ count: UInt64,
        in transaction: borrowing WriteTransaction
    ) throws {
        let state = DataMigrationState(
            progress, milliseconds: clock.milliseconds, recordCount: count)
        try transaction.log.setMeta(MetaName.dataMigration(migration.name), state.bytes)
    }

    private static func context(_ migration: DataMigration) -> String {
        "Data migration '\(migration.name)'"
    }

    /// What an opening throws if a migration did. What the disk can't do stays what it is.
    private static func failure(_ error: any Error, _ name: String) -> StoreError {
        let wrapped = StoreError.wrap(error) as? StoreError
        if let wrapped, [.full, .io, .outcomeUnknown, .closed].contains(wrapped.code) {
            return wrapped
        }
        let reason =
            (error as? any BackstitchError)?.message ?? "its error is the cause of this one."
        return StoreError(
            .migrationFailed,
            "The data migration '\(name)' failed, and the step that failed has left nothing: "
                + "\(reason) Correct the migration and open the store again, or open it without.",
            cause: error)
    }

    // MARK: Records

    /// The keys of the next records that can be read as their Swift type.
    private func keys(
        of parts: DataMigration.Parts, after last: RecordKey?, through end: RecordKey,
        _ reader: TableReader
    ) throws -> [RecordKey] {
        guard let number = reader.catalog.table(named: parts.entity)?.number else { return [] }
        let range = KeyRange(lower: last.map { $0.bytes + [0] } ?? [], upper: end.bytes + [0])
        var keys: [RecordKey] = []
        try unsafe reader.visitRows(of: number, within: range, reversed: false) { key, _ in
            unsafe keys.append(try RecordKey.stored(key))
            return keys.count < parts.recordsMax
        }
        return keys
    }

    /// The key of the last record that can be read as its Swift type; nil if there is none.
    private func lastKey(
        of parts: DataMigration.Parts, _ reader: TableReader
    ) throws -> RecordKey? {
        guard let number = reader.catalog.table(named: parts.entity)?.number else { return nil }
        var last: RecordKey?
        try unsafe reader.visitRows(of: number, within: .all, reversed: true) { key, _ in
            last = unsafe try RecordKey.stored(key)
            return false
        }
        return last
    }
}
