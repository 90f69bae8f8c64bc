import BackstitchCore

/// How far the work in the background has come: the next entity, and the record in it.
struct SchemaWorkPlace: Equatable {
    var entity: EntityNumber
    var key: RecordKey?

    init(entity: EntityNumber, key: RecordKey?) {
        self.entity = entity
        self.key = key
    }

    /// The stored form: the entity's number, big-endian, then the record key.
    var bytes: [UInt8] {
        [UInt8(entity.rawValue >> 8), UInt8(truncatingIfNeeded: entity.rawValue)]
            + (key?.bytes ?? [])
    }

    /// Reads the stored form; nil for other bytes, so that the work begins anew.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        entity = EntityNumber(UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        if bytes.count > 2 {
            guard let key = bytes.dropFirst(2).withUnsafeBytes({ RecordKey(reading: $0) }) else {
                return nil
            }
            self.key = key
        }
    }
}

extension CatalogEntity {
    /// Whether indexes of the entity are being built, or its records are to be examined.
    var hasWork: Bool { needsExamination == true || attributes.contains { $0.isBuilding == true } }
}

extension WriteContext {
    /// The most records that one commit works on in the background, so that writers wait little.
    static let schemaWorkRecordsMax = 256

    /// Builds indexes and examines records a bit further.
    ///
    /// - Returns: the number of records worked on; nil where nothing is left to do.
    func workOnSchema() throws -> Int? {
        guard let entity = catalog.catalog.entities.first(where: \.hasWork),
            let table = catalog.table(entity.number)
        else { return nil }
        let stored = try reader.meta(MetaName.schemaWork).flatMap { SchemaWorkPlace($0) }
        let last = stored?.entity == entity.number ? stored?.key : nil
        let chunk = try reader.liveBodies(
            of: entity.number, after: last, limit: Self.schemaWorkRecordsMax)
        let building = entity.attributes.filter { $0.isBuilding == true }
        try withProjector { projector in
            for body in chunk {
                try body.withFields {
                    try projector.putIndexes(of: building, $1, keyBytes: $0, in: table)
                }
            }
        }
        if entity.needsExamination == true {
            for body in chunk { try examine(body, in: table) }
        }
        if let key = chunk.last?.key {
            let place = SchemaWorkPlace(entity: entity.number, key: key)
            try setMeta(MetaName.schemaWork, place.bytes)
        } else {
            try deleteMeta(MetaName.schemaWork)
            try endSchemaWork(of: entity.number)
        }
        return chunk.count
    }

    /// Notes in the log where the schema can read a record that it could not, or the reverse.
    private func examine(_ body: StoredBody, in table: EntityTable) throws {
        let isUnreadable = isUnreadable(try body.withFields { try Fields($1) }, table)
        // What is parked or to be made again on the service is examined when that is over.
        guard isUnreadable != body.flags.contains(.isUnreadable),
            body.flags.isDisjoint(with: [.isParked, .isForgotten]),
            let row = try reader.row(table.number, body.key)
        else { return }
        // An update of no field: with the stamp of the base it is as synced as the record is.
        let isSynced = !row.isDirty && row.hasChangeTag
        let stamp = SyncStamp(
            changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds,
            acknowledgedThrough: row.syncedSequence)
        beforeWriter.reset()
        afterWriter.reset()
        try appendUpdate(
            origin: isSynced ? .remote : .local, entity: table.number, key: body.key,
            previous: row.lastSequence, flags: isUnreadable ? .isUnreadable : [],
            stamp: isSynced ? stamp : nil)
    }
}
