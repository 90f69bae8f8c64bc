import BackstitchCore
import BackstitchLog

extension LogWriter {
    /// Converts an attribute's values in all records, as edits of this device.
    ///
    /// - Returns: what is wrong with records whose value became none though it must be there.
    func convert(_ place: SchemaAdoption.Place, by upcaster: Upcaster) throws -> [String] {
        guard let table = catalog.table(place.entity),
            let attribute = table.attribute(place.field), let schema = attribute.schema
        else { return [] }
        var failed: [RecordKey] = []
        var last: RecordKey?
        repeat {
            let chunk = try reader.liveBodies(of: place.entity, after: last, limit: 1_000)
            last = chunk.last?.key
            for body in chunk {
                let value = try body.withFields { try $1.value(of: place.field)?.decoded() }
                guard let value, value != .null else { continue }
                let converted = upcaster.convert(value) ?? .null
                guard converted.isValue(of: schema) else {
                    failed.append(body.key)
                    continue
                }
                try replace(value, by: converted, of: place.field, in: table, body.key)
            }
        } while last != nil
        guard !failed.isEmpty else { return [] }
        let names = failed.prefix(20).map(\.description).joined(separator: ", ")
        return [
            "The Upcaster of \(table.name).\(attribute.attributeName) gives no \(schema.type) for "
                + "\(failed.count) records, among them \(names): let it give one for every value."
        ]
    }

    private func replace(
        _ before: Value, by after: Value, of field: FieldID, in table: EntityTable,
        _ key: RecordKey
    ) throws {
        guard after != before, let row = try reader.row(table.number, key), let fields = row.fields
        else { return }
        var changed = try Fields(fields)
        changed[field] = after
        let flags: OperationHeader.Flags = table.canRead(changed) ? [] : .isUnreadable
        beforeWriter.reset()
        afterWriter.reset()
        try beforeWriter.write(before, of: field)
        try afterWriter.write(after, of: field, keepsNull: true)
        try appendUpdate(
            origin: .local, entity: table.number, key: key, previous: row.lastSequence,
            flags: flags)
    }
}

extension Value {
    /// Whether an attribute can have the value as it stands.
    fileprivate func isValue(of schema: AttributeSchema) -> Bool {
        if self == .null { return !schema.isMandatory }
        return converted(to: schema.type) == self && schema.allows(self)
    }
}
