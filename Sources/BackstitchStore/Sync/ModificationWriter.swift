import BackstitchCore

/// Writes modifications as JSON, one to a line.
struct ModificationWriter: ~Copyable {
    /// Lines that were not handed on yet.
    var buffer = ByteBuffer(capacity: 1 << 16)
    /// What stands in front of a value, by position in the table of the last record.
    private var labels: [[UInt8]] = []
    private var labelled: EntityTable?

    /// A record that the service does not have, with all its fields.
    mutating func create(
        _ table: EntityTable, _ name: RecordName, _ fields: PackedFields
    ) throws {
        begin("create", name, table)
        var separator = ""
        for position in 0..<fields.count {
            let value = try fields.value(at: position)
            guard let attribute = table.attribute(fields.field(at: position)), value.tag != .null
            else { continue }
            begin(attribute.field, &separator)
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
            begin("create", place.name, place.table)
            write(fields, of: place.table)
        case .update(let fields):
            begin("update", place.name, place.table, changeTag: place.changeTag)
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
            begin(attribute.field, &separator)
            buffer.append(json: ServiceMapping.serviceValue(value, of: attribute.schema))
            endField()
        }
        buffer.append(utf8: "}}}\n")
    }

    private mutating func begin(
        _ operation: String, _ name: RecordName, _ table: EntityTable, changeTag: String = ""
    ) {
        if labelled !== table { label(table) }
        buffer.append(utf8: "{\"operationType\":\"")
        buffer.append(utf8: operation)
        buffer.append(utf8: "\",\"record\":{\"recordName\":")
        buffer.append(json: name)
        buffer.append(utf8: ",\"recordType\":")
        buffer.append(jsonText: table.name)
        write(changeTag: changeTag)
        buffer.append(utf8: ",\"fields\":{")
    }

    private mutating func write(changeTag: String) {
        guard !changeTag.isEmpty else { return }
        buffer.append(utf8: ",\"recordChangeTag\":")
        buffer.append(jsonText: changeTag)
    }

    private mutating func label(_ table: EntityTable) {
        labels = table.attributes.map { attribute in
            var text = ByteBuffer()
            text.append(jsonText: attribute.name)
            text.append(utf8: ":{\"value\":")
            return Array(text.bytes)
        }
        labelled = table
    }

    /// Begins a field of the table that is labelled. Fields are numbered from 1.
    private mutating func begin(_ field: FieldID, _ separator: inout String) {
        buffer.append(utf8: separator)
        separator = ","
        labels[Int(field.rawValue) - 1].withUnsafeBytes { buffer.append($0) }
    }

    private mutating func endField() { buffer.append(UInt8(ascii: "}")) }
}

/// A record with operations that the service does not have.
struct PendingRecord {
    let table: EntityTable
    let name: RecordName
    let changeTag: String
}
