public import BackstitchCore
import BackstitchLog

/// One step in the history of a record: the operation, and the record after it.
@dynamicMemberLookup
public struct HistoryEntry: Sendable {
    /// The operation; its properties are also properties of the entry.
    public let operation: LoggedOperation
    /// The record's values after the operation by attribute name; nil if it was deleted.
    public let values: [String: RecordValue]?
    private let table: EntityTable
    private let types: TypeTable

    init(
        _ operation: LoggedOperation, values: [String: RecordValue]?, table: EntityTable,
        types: TypeTable
    ) {
        self.operation = operation
        self.values = values
        self.table = table
        self.types = types
    }

    /// The properties of the operation: its sequence, date, author, changes and so on.
    public subscript<Part>(dynamicMember path: KeyPath<LoggedOperation, Part>) -> Part {
        operation[keyPath: path]
    }

    /// Whether history begins here: the entry stands for everything before, which was compacted.
    public var isBaseline: Bool { operation.kind == .baseline }

    /// The record after the operation as its Swift type; nil if it was deleted.
    ///
    /// - Throws: `unknownEntity` if the store's schema lacks the type or the record is of another
    ///   one; `unreadable` if the values don't fit the type.
    public func model<Model: Entity>(_ type: Model.Type = Model.self) throws -> Model? {
        let binding = try types.binding(of: type)
        guard binding.number == table.number else {
            throw StoreError(
                .unknownEntity,
                "The history is of a \(table.name) record and not of a \(binding.name). Ask for "
                    + "the type that the record has.")
        }
        guard let values else { return nil }
        var fields = Fields()
        for (name, value) in values {
            if let attribute = table.attribute(named: name) { fields[attribute.field] = value }
        }
        var writer = _FieldWriter()
        var body = ByteBuffer(capacity: 1024)
        do {
            try fields.write(to: &writer)
        } catch {
            throw StoreError(.damaged, "A stored field can't be read: \(error).")
        }
        writer.finish(into: &body)
        return unsafe try binding.decode(body.bytes, EntityID<Model>(key: operation.record.key))
    }
}
