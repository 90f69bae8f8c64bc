import BackstitchCore

/// Writes modifications as JSON, one to a line.
struct ModificationWriter: ~Copyable {
    /// A record with operations that the service does not have.
    struct Place {
        let table: EntityTable
        let name: RecordName
        let changeTag: String
    }

    /// Lines that were not handed on yet.
    private var buffer = ByteBuffer(capacity: 1 << 16)
    private var template = ModificationTemplate()

    /// Hands the lines on if they have more than so many bytes.
    mutating func handOn(
        above bytes: Int = 0, to write: ([UInt8]) throws -> Void
    ) throws {
        guard buffer.count > bytes else { return }
        try write(unsafe Array(buffer.bytes))
        buffer.removeAll()
    }

    /// A record that the service does not have, with all its fields.
    mutating func create(
        _ table: EntityTable, _ name: RecordName, _ fields: PackedFields
    ) throws {
        begin("{\"operationType\":\"create\",\"record\":{\"recordName\":", name, table)
        var isFirst = true
        for position in 0..<fields.count {
            let field = unsafe fields.field(at: position)
            let value = try unsafe fields.value(at: position)
            guard let column = template.column(of: field), !column.staysHere, value.tag != .null
            else { continue }
            unsafe buffer.append(template.label(column, isFirst: isFirst))
            isFirst = false
            if try !buffer.append(plainJSON: value, column.action) {
                try buffer.append(json: value, of: table.attribute(field)?.schema)
            }
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(utf8: "}}}\n")
    }

    /// What the operations of a record add up to; nothing if that is nothing.
    ///
    /// - Returns: whether there is something to push.
    mutating func write(_ push: RecordFold.Push, of place: Place) -> Bool {
        switch push {
        case .nothing:
            return false
        case .create(let fields):
            begin(
                "{\"operationType\":\"create\",\"record\":{\"recordName\":", place.name,
                place.table)
            write(fields, of: place.table)
        case .update(let fields):
            begin(
                "{\"operationType\":\"update\",\"record\":{\"recordName\":", place.name,
                place.table, changeTag: place.changeTag)
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
        var isFirst = true
        for (field, value) in fields {
            guard let column = template.column(of: field), !column.staysHere else { continue }
            unsafe buffer.append(template.label(column, isFirst: isFirst))
            isFirst = false
            let schema = table.attribute(field)?.schema
            buffer.append(json: ServiceMapping.serviceValue(value, of: schema))
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(utf8: "}}}\n")
    }

    private mutating func begin(
        _ start: String, _ name: RecordName, _ table: EntityTable, changeTag: String = ""
    ) {
        template.use(table)
        buffer.append(utf8: start)
        buffer.append(json: name)
        unsafe buffer.append(template.type)
        write(changeTag: changeTag)
        buffer.append(utf8: ",\"fields\":{")
    }

    private mutating func write(changeTag: String) {
        guard !changeTag.isEmpty else { return }
        buffer.append(utf8: ",\"recordChangeTag\":")
        buffer.append(jsonText: changeTag)
    }
}

/// The parts of a line that are the same for all records of an entity.
struct ModificationTemplate: ~Copyable {
    struct Column {
        /// Where the comma, the name and what stands before the value are among the labels.
        fileprivate let label: Range<Int>
        /// Whether the attribute is never sent.
        let staysHere: Bool
        let action: ServiceReference.Action
    }

    private var table: EntityTable?
    private var labels = ByteBuffer(capacity: 1024)
    private var typeEnd = 0
    private var columns: [Column] = []

    /// Takes the names of an entity.
    mutating func use(_ table: EntityTable) {
        if self.table === table { return }
        self.table = table
        labels.removeAll()
        labels.append(utf8: ",\"recordType\":")
        labels.append(jsonText: table.name)
        typeEnd = labels.count
        let unsent = table.unsentFields
        columns.removeAll()
        for attribute in table.attributes {
            let start = labels.count
            labels.append(UInt8(ascii: ","))
            labels.append(jsonText: attribute.name)
            labels.append(utf8: ":{\"value\":")
            columns.append(
                Column(
                    label: start..<labels.count,
                    staysHere: unsent.contains(attribute.field),
                    action: ServiceMapping.action(attribute.schema?.reference?.onDelete)))
        }
    }

    /// The record's type, with its name and comma.
    var type: UnsafeRawBufferPointer { unsafe labels.bytes.part(0..<typeEnd) }

    /// What is known of a field; fields are numbered from 1.
    func column(of field: FieldID) -> Column? {
        let index = Int(field.rawValue) - 1
        return columns.indices.contains(index) ? columns[index] : nil
    }

    func label(_ column: Column, isFirst: Bool) -> UnsafeRawBufferPointer {
        unsafe labels.bytes.part(
            (column.label.lowerBound + (isFirst ? 1 : 0))..<column.label.upperBound)
    }
}
