import BackstitchCore
import LMDB

/// A full fetch of a zone: what was seen is marked, and what was not is swept out at its end.
extension WriteContext {
    /// Marks a record as seen. No record here has an impossible name, so that needs no mark.
    package func markSeen(_ recordName: String) throws {
        guard RecordName(recordName).violation == nil else { return }
        try setMeta(MetaName.seenPrefix + recordName, [])
    }

    /// Ends a full fetch: records that the service does not have and that are not edited here are
    /// deleted; edited ones stay, to be pushed.
    ///
    /// - Returns: the number of records that were deleted.
    package func sweep() throws -> Int {
        var gone: [RecordPlace] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, row in
                guard row.hasChangeTag, !row.isDirty, let key = RecordKey(reading: bytes) else {
                    return true
                }
                if try reader.meta(MetaName.seenPrefix + key.name.description) == nil {
                    gone.append(RecordPlace(entity: table.number, key: key))
                }
                return true
            }
        }
        for place in gone {
            guard let row = try reader.row(place.entity, place.key) else { continue }
            try appendDelete(
                origin: .remote, entity: place.entity, key: place.key, row: row,
                stamp: SyncStamp(nil, through: 0))
        }
        try forgetSeen()
        return gone.count
    }

    /// Forgets all marks.
    package func forgetSeen() throws {
        let prefix = Array(MetaName.seenPrefix.utf8)
        try prefix.withUnsafeBytes { prefix in
            try access.withCursor(in: databases.meta) { cursor in
                var isThere = try cursor.seek(atOrAfter: prefix)
                while isThere, cursor.key.starts(with: prefix) {
                    try cursor.delete()
                    isThere = try cursor.next()
                }
            }
        }
    }
}
