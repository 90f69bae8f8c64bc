import BackstitchCore
import BackstitchLog

/// Does to records and tables what a schema asks for before it can be used.
struct SchemaChange {
    private let log: LogWriter
    private var reader: TableReader { log.reader }
    private var catalog: CatalogSnapshot { log.catalog }

    init(_ log: LogWriter) { self.log = log }

    /// Does to records and tables what a schema asks for before it can be used.
    func carryOut(_ adoption: SchemaAdoption) throws {
        for place in adoption.staleIndexes {
            try log.withProjector { try $0.clearIndex(place.entity, place.field) }
        }
        for (entity, number) in adoption.staleCompounds {
            try log.withProjector { try $0.clearCompound(entity, number) }
        }
        var failed: [String] = []
        for (place, upcaster) in adoption.upcasts {
            failed += try convert(place, by: upcaster)
        }
        try StoreError.refuseSchema(failed)
        for place in adoption.unmasked { try markUnsynced(place) }
        let urgent = Dictionary(grouping: adoption.urgentIndexes, by: \.entity)
        for (entity, places) in urgent.sorted(by: { $0.key < $1.key }) {
            guard let table = catalog.table(entity) else { continue }
            let attributes = places.compactMap { table.attribute($0.field) }
            try unsafe visitBodies(of: table) { projector, keyBytes, fields in
                try unsafe projector.putIndexes(
                    of: attributes, fields, keyBytes: keyBytes, in: table)
            }
        }
        for entity in adoption.staleInverses.sorted() {
            guard let table = catalog.table(entity) else { continue }
            try log.withProjector { try $0.clearInverses(entity) }
            try unsafe visitBodies(of: table) { projector, keyBytes, fields in
                try unsafe projector.putInverses(fields, keyBytes: keyBytes, in: table)
            }
        }
    }

    private func visitBodies(
        of table: EntityTable,
        _ visit: (inout Projector, UnsafeRawBufferPointer, PackedFields) throws -> Void
    ) throws {
        var next: RecordKey?
        repeat {
            let chunk = try StoredBody.live(of: table.number, after: next, limit: 1_000, reader)
            next = chunk.last?.key
            try log.withProjector { projector in
                for body in chunk {
                    try unsafe body.withFields { try unsafe visit(&projector, $0, $1) }
                }
            }
        } while next != nil
    }

    // MARK: Values

    /// Converts an attribute's values in all records, as edits of this device.
    ///
    /// - Returns: what is wrong with records whose value became none though it must be there.
    private func convert(_ place: SchemaAdoption.Place, by upcaster: StoreSchema.Upcaster) throws
        -> [String]
    {
        guard let table = catalog.table(place.entity),
            let attribute = table.attribute(place.field), let schema = attribute.schema
        else { return [] }
        var failed: [RecordKey] = []
        var last: RecordKey?
        repeat {
            let chunk = try StoredBody.live(of: place.entity, after: last, limit: 1_000, reader)
            last = chunk.last?.key
            for body in chunk {
                let value = try unsafe body.withFields { try $1.value(of: place.field)?.decoded() }
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
        _ before: RecordValue, by after: RecordValue, of field: FieldID, in table: EntityTable,
        _ key: RecordKey
    ) throws {
        guard after != before, let row = try log.row(table.number, key), let fields = row.fields
        else { return }
        var changed = try Fields(fields)
        changed[field] = after
        let flags: OperationHeader.Flags = table.canRead(changed) ? [] : .isUnreadable
        log.fields.reset()
        try log.fields.before.write(before, of: field)
        try log.fields.after.write(after, of: field, keepsNull: true)
        try log.appendUpdate(
            origin: .local, entity: table.number, key: key, previous: row.lastSequence,
            flags: flags)
    }

    /// Makes the values of an attribute edits of this device, because they were never pushed: as
    /// though the service had none.
    private func markUnsynced(_ place: SchemaAdoption.Place) throws {
        var last: RecordKey?
        repeat {
            let chunk = try StoredBody.live(of: place.entity, after: last, limit: 1_000, reader)
            last = chunk.last?.key
            for body in chunk {
                guard let row = try log.row(place.entity, body.key),
                    let value = try row.fields?.value(of: place.field)?.decoded(), value != .null
                else { continue }
                let isUnreadable = row.flags.contains(.isUnreadable)
                log.fields.reset()
                try log.fields.before.write(.null, of: place.field, keepsNull: true)
                try log.fields.after.write(value, of: place.field)
                try log.appendUpdate(
                    origin: .local, entity: place.entity, key: body.key,
                    previous: row.lastSequence, flags: isUnreadable ? .isUnreadable : [])
            }
        } while last != nil
    }
}

extension RecordValue {
    /// Whether an attribute can have the value as it stands.
    fileprivate func isValue(of schema: AttributeSchema) -> Bool {
        if self == .null { return !schema.isMandatory }
        return converted(to: schema.type) == self && schema.allows(self)
    }
}
