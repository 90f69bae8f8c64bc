public import BackstitchCore
public import BackstitchLog

/// A snapshot of a store. Valid only inside the closure of `read`.
public struct ReadTransaction: RecordReading, ~Copyable {
    /// The snapshot that is read; for this library's own use.
    public let _source: _ReadSource

    init(reader: TableReader, types: TypeTable) {
        _source = _ReadSource(reader: reader, types: types)
    }

    /// The sequence of the last operation; 0 in an empty store.
    public var lastSequence: UInt64 {
        get throws { try reader.log.head }
    }
}

extension TableReader {
    /// Reads a record as its Swift type; nil if it does not exist.
    @inlinable
    package func find<Model: Entity>(_ id: EntityID<Model>, _ binding: TypeBinding) throws -> Model?
    {
        guard let body = try unsafe liveBody(binding.number, id.key) else { return nil }
        return unsafe try binding.decode(body, id)
    }

    /// The packed fields of a record that is there.
    @usableFromInline
    func liveBody(_ entity: EntityNumber, _ key: RecordKey) throws -> UnsafeRawBufferPointer? {
        guard let row = try row(entity, key), !row.isDeleted else { return nil }
        return unsafe row.bodyBytes
    }

    func decode<Model: Entity>(
        _ row: RowView, _ id: EntityID<Model>, _ binding: TypeBinding
    ) throws -> Model {
        try unsafe binding.decode(row.bodyBytes, id)
    }
}

/// Generic code is inlined into that of the user, if the type is known: it is decoded without
/// a look at its metadata.
extension TypeBinding {
    /// Reads a record, or nil if its values don't fit the type or are not all on this device.
    @inlinable
    func decodeIfReadable<Model: Entity>(
        _ body: UnsafeRawBufferPointer, _ id: EntityID<Model>, _ source: TableReader
    ) throws -> Model? {
        guard let fields = unsafe PackedFields(body) else { throw damagedRow }
        var reader = _FieldReader(fields: fields, layout: layout)
        do {
            return try Model(id: id, fields: &reader)
        } catch {
            if isLeftOut(error, source) { return nil }
            throw explained(error, at: reader.lastIndex, of: id.key)
        }
    }

    /// Reads packed fields as the Swift type.
    @inlinable
    func decode<Model: Entity>(
        _ body: UnsafeRawBufferPointer, _ id: EntityID<Model>
    ) throws -> Model {
        guard let fields = unsafe PackedFields(body) else { throw damagedRow }
        var reader = _FieldReader(fields: fields, layout: layout)
        do {
            return try Model(id: id, fields: &reader)
        } catch {
            throw explained(error, at: reader.lastIndex, of: id.key)
        }
    }

    @usableFromInline
    var damagedRow: any Error {
        StoreError(.damaged, "A row of \(name) can't be read. Run rebuild.")
    }

    /// Whether a value of another version of the app is the likely reason, or one that is still on its
    /// way to this device.
    @usableFromInline
    func isLeftOut(_ error: any Error, _ source: TableReader) -> Bool {
        guard let error = error as? FieldError else { return false }
        if error.reason == .notHere {
            source.footprint?.noteLeftOut()
            return true
        }
        return [.unknownCase, .notDecodable, .notConvertible].contains(error.reason)
    }

    /// The error for a record that can't be read, with the attribute that was read last.
    @usableFromInline
    func explained(_ error: any Error, at lastIndex: Int, of key: RecordKey) -> any Error {
        guard let error = error as? FieldError else { return error }
        let index = error.index >= 0 ? error.index : lastIndex
        return StoreError(
            error.reason == .notHere ? .notHere : .unreadable,
            "The \(name) record \(key) can't be read as its Swift type: of "
                + "\(attributeName(at: index)), \(error).")
    }
}
