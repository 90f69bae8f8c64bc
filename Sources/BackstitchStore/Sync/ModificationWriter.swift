import BackstitchCore

/// Writes modifications as JSON, one to a line.
struct ModificationWriter: ~Copyable {
    /// Lines that were not handed on yet.
    var buffer = ByteBuffer(capacity: 1 << 16)

    /// A record that the service does not have, with all its fields.
    mutating func create(
        _ table: EntityTable, _ name: RecordName, _ fields: PackedFields
    ) throws {
        begin("create", name, table.name)
        var separator = ""
        for position in 0..<fields.count {
            let value = try fields.value(at: position)
            guard let attribute = table.attribute(fields.field(at: position)), value.tag != .null
            else { continue }
            beginField(attribute.name, &separator)
            try buffer.append(json: value, of: attribute.schema)
            endField()
        }
        buffer.append(utf8: "}}}\n")
    }

    /// What the operations of a record add up to; nothing where that is nothing.
    ///
    /// - Returns: whether there is something to push.
    mutating func write(_ push: RecordFold.Push, of place: PendingRecord) -> Bool {
        switch push {
        case .nothing:
            return false
        case .create(let fields):
            begin("create", place.name, place.table.name)
            write(fields, of: place.table)
        case .update(let fields):
            begin("update", place.name, place.table.name, changeTag: place.changeTag)
            write(fields, of: place.table)
        case .delete:
            buffer.append(utf8: "{\"operationType\":\"delete\",\"record\":{\"recordName\":")
            buffer.append(json: place.name)
            write(changeTag: place.changeTag)
            buffer.append(utf8: "}}\n")
        }
        return true
    }

    private mutating func write(_ fields: Fields, of table: EntityTable) {
        var separator = ""
        for (field, value) in fields {
            guard let attribute = table.attribute(field) else { continue }
            beginField(attribute.name, &separator)
            buffer.append(json: ServiceMapping.serviceValue(value, of: attribute.schema))
            endField()
        }
        buffer.append(utf8: "}}}\n")
    }

    private mutating func begin(
        _ operation: String, _ name: RecordName, _ type: String, changeTag: String = ""
    ) {
        buffer.append(utf8: "{\"operationType\":\"")
        buffer.append(utf8: operation)
        buffer.append(utf8: "\",\"record\":{\"recordName\":")
        buffer.append(json: name)
        buffer.append(utf8: ",\"recordType\":")
        buffer.append(jsonText: type)
        write(changeTag: changeTag)
        buffer.append(utf8: ",\"fields\":{")
    }

    private mutating func write(changeTag: String) {
        guard !changeTag.isEmpty else { return }
        buffer.append(utf8: ",\"recordChangeTag\":")
        buffer.append(jsonText: changeTag)
    }

    private mutating func beginField(_ name: String, _ separator: inout String) {
        buffer.append(utf8: separator)
        separator = ","
        buffer.append(jsonText: name)
        buffer.append(utf8: ":{\"value\":")
    }

    private mutating func endField() { buffer.append(UInt8(ascii: "}")) }
}

/// A record with operations that the service does not have.
struct PendingRecord {
    let table: EntityTable
    let name: RecordName
    let changeTag: String
}
