public import BackstitchCore
import BackstitchLog

/// A change of a store's records that is made once in each store, such as when a new version of the
/// program wants values that the old one did not write.
///
/// Name it in ``StoreConfiguration/dataMigrations``. Opening a store makes those that it does not have yet,
/// one after another in their order, and returns when they are done. The store remembers their names, so
/// that neither the next opening nor another process makes one again.
///
/// ```swift
/// let names = DataMigration("2: full names", each: Person.self) { transaction, person in
///     var person = person
///     person.fullName = person.first + " " + person.last
///     try transaction.save(person)
/// }
/// let store = try Store(
///     at: directory, schema: schema, configuration: StoreConfiguration(dataMigrations: [names]))
/// ```
///
/// **Its saves and deletes are edits of this device**: they are in the history and are pushed, and other
/// devices may have made the same ones, in any order. So derive all that it writes from the records alone,
/// without time, chance or the device. Two devices that change a record to the same values don't conflict.
/// A record that it makes needs an id that follows from others, such as `Person.ID("default")`.
///
/// **A record may arrive later as an older version of the program wrote it.** Let reads of the program cope
/// with that, or make the migration again with ``History/repeatMigration(named:)``.
public struct DataMigration: Sendable {
    /// The most bytes of a name.
    public static let nameBytesMax = 200

    /// What the store remembers it by. Never change it, and never give it to another migration.
    public let name: String
    let step: Step

    /// How a migration goes through the records.
    enum Step: Sendable {
        case whole(@Sendable (borrowing WriteTransaction) throws -> Void)
        case parts(Parts)
    }

    /// What is done to each record of a type.
    struct Parts: Sendable {
        let entity: String
        let recordsMax: Int
        let change: @Sendable (borrowing WriteTransaction, RecordKey) throws -> Void
    }

    /// A migration in one transaction: all of it is there, or nothing.
    ///
    /// Other writes, also of other processes, wait for its end. It may have as many operations as
    /// ``StoreConfiguration/operationsPerWriteMax`` says.
    ///
    /// - Parameters:
    ///   - name: What the store remembers it by: 1 to 200 bytes.
    ///   - change: What it does; it may run more than once before it counts, as in every write.
    public init(
        _ name: String,
        _ change: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) {
        self.name = name
        step = .whole(change)
    }

    /// A migration of each record of a type, in parts: each part is a transaction of its own.
    ///
    /// The records are visited in the order of their keys, up to the last one that is there at the
    /// beginning. With each part the store notes how far it came. If the process ends, or a record's change
    /// throws, the next opening goes on there. Meanwhile other processes see some records changed and
    /// others not.
    ///
    /// - Parameters:
    ///   - name: What the store remembers it by: 1 to 200 bytes.
    ///   - type: The records' type. Those that can't be read as it are left out.
    ///   - recordsMax: The most records of a part. Writes of other processes wait for the end of a part.
    ///   - change: Changes one record: it saves or deletes it in the transaction, or does nothing. It may
    ///     change others, too.
    public init<Model: Entity>(
        _ name: String, each type: Model.Type, inPartsOf recordsMax: Int = 500,
        _ change: @escaping @Sendable (borrowing WriteTransaction, Model) throws -> Void
    ) {
        self.name = name
        step = .parts(
            Parts(entity: Model.entityName, recordsMax: recordsMax) { transaction, key in
                guard let model = try transaction.find(EntityID<Model>(key: key)) else { return }
                try change(transaction, model)
            })
    }
}

extension DataMigration {
    /// What is wrong with migrations, each with its remedy.
    static func violations(_ migrations: [DataMigration], _ schema: StoreSchema) -> [String] {
        var names: Set<String> = []
        return migrations.flatMap { migration -> [String] in
            var violations: [String] = []
            let name = migration.name
            if name.isEmpty || name.utf8.count > nameBytesMax {
                violations.append(
                    "The name of a data migration has 1 to \(nameBytesMax) bytes; one has "
                        + "\(name.utf8.count).")
            }
            if !names.insert(name).inserted {
                violations.append("Two data migrations are called '\(name)': rename one.")
            }
            guard case .parts(let parts) = migration.step else { return violations }
            if parts.recordsMax < 1 {
                violations.append(
                    "A part of the data migration '\(name)' has \(parts.recordsMax) records: give 1 "
                        + "or more.")
            }
            if schema.entity(named: parts.entity) == nil {
                violations.append(
                    "The data migration '\(name)' wants the entity '\(parts.entity)': add its type "
                        + "to the schema.")
            }
            return violations
        }
    }
}
