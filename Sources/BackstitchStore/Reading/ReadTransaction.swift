import BackstitchCore

/// One moment of a store, to read from. Valid inside the closure of `read` only.
public struct ReadTransaction: ~Copyable {
    package let reader: TableReader
    let types: TypeTable

    init(reader: TableReader, types: TypeTable) {
        self.reader = reader
        self.types = types
    }

    /// The sequence of the last operation; 0 in an empty store.
    public var lastSequence: UInt64 {
        get throws { try reader.head }
    }
}

extension TableReader {
    /// Reads a record as its Swift type; nil where there is none.
    func find<Model: Entity>(_ id: EntityID<Model>, _ binding: TypeBinding) throws -> Model? {
        guard let row = try row(binding.number, id.key), !row.isDeleted else { return nil }
        return try decode(row, id, binding)
    }

    func decode<Model: Entity>(
        _ row: RowView, _ id: EntityID<Model>, _ binding: TypeBinding
    ) throws -> Model {
        try binding.decode(row.bodyBytes, id)
    }
}

extension TypeBinding {
    /// Reads a record, or nil where its values don't fit the type.
    func decodeIfReadable<Model: Entity>(
        _ body: UnsafeRawBufferPointer, _ id: EntityID<Model>
    ) throws -> Model? {
        guard let fields = PackedFields(body) else {
            throw StoreError(.damaged, "A row of \(name) can't be read. Run rebuild.")
        }
        var reader = FieldReader(fields: fields, layout: layout)
        do {
            return try Model(id: id, fields: &reader)
        } catch let error as FieldError where error.reason.isOfContent {
            return nil
        } catch is FieldError {
            return try decode(body, id)
        }
    }

    /// Reads packed fields as the Swift type.
    func decode<Model: Entity>(
        _ body: UnsafeRawBufferPointer, _ id: EntityID<Model>
    ) throws -> Model {
        guard let fields = PackedFields(body) else {
            throw StoreError(.damaged, "A row of \(name) can't be read. Run rebuild.")
        }
        var reader = FieldReader(fields: fields, layout: layout)
        do {
            return try Model(id: id, fields: &reader)
        } catch let error as FieldError {
            let attribute =
                error.index >= 0
                ? attributeName(error) : reader.lastAttribute(schema)
            throw StoreError(
                .unreadable,
                "The \(name) record \(id) can't be read as its Swift type: of "
                    + "\(attribute), \(error).")
        }
    }
}

extension FieldReader {
    /// The name of the attribute that was read last.
    func lastAttribute(_ schema: EntitySchema) -> String {
        schema.attributes.indices.contains(lastIndex)
            ? schema.attributes[lastIndex].name : "an attribute"
    }
}

extension FieldError.Reason {
    /// Whether a value of another version of the app is the likely reason.
    fileprivate var isOfContent: Bool { self == .unknownCase || self == .notDecodable }
}
