import BackstitchCore

extension WriteContext {
    /// Ends all records here, unsynced ones too, as though the service had never had any.
    package func eraseRecords() throws {
        var places: [RecordPlace] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, _ in
                guard let key = RecordKey(reading: bytes) else { return true }
                places.append(RecordPlace(entity: table.number, key: key))
                return true
            }
        }
        for place in places {
            guard let row = try reader.row(place.entity, place.key) else { continue }
            if row.isDeleted {
                try acknowledge(
                    place.entity, place.key, through: row.lastSequence, version: nil)
            } else {
                try appendDelete(
                    origin: .remote, entity: place.entity, key: place.key, row: row,
                    stamp: SyncStamp(nil, through: row.lastSequence))
            }
        }
    }
}
