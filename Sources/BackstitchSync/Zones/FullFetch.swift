package import BackstitchCore
package import BackstitchLog

/// A full fetch of a zone: what was seen is marked, and what was not is swept out at its end.
package struct FullFetch {
    private let log: LogWriter
    private let slot: UInt8

    package init(_ log: LogWriter, in slot: UInt8) { (self.log, self.slot) = (log, slot) }

    /// Marks a record as seen. No record here has an impossible name, so that needs no mark.
    package func markSeen(_ recordName: String) throws {
        let key = RecordKey(RecordName(recordName), zone: slot)
        if key.name.violation == nil { try log.note(.seen, key) }
    }

    /// Takes the mark of a record away that ended since it was listed.
    package func markUnseen(_ recordName: String) throws {
        let key = RecordKey(RecordName(recordName), zone: slot)
        if key.name.violation == nil { try log.forgetNote(.seen, key) }
    }

    /// Records of a zone that the service had and that the fetch did not list, in the order of their keys. They may
    /// be there all the same: a replica that lags behind may have listed the others. Records of types that
    /// the service was not asked for are left out.
    ///
    /// - Complexity: O(*n*) in the rows of the store.
    package static func unseen(
        _ reader: TableReader, in slot: UInt8, wantedTypes: Set<String>? = nil, limit: Int
    ) throws -> [(key: RecordKey, entityName: String)] {
        var unseen: [(key: RecordKey, entityName: String)] = []
        for table in reader.catalog.tables
        where unseen.count < limit && wantedTypes?.contains(table.name) != false {
            try unsafe ZoneRows(reader).visit(of: table.number, in: slot) { bytes, row in
                guard row.hasChangeTag, let key = unsafe RecordKey(reading: bytes) else {
                    return true
                }
                if try reader.meta.note(.seen, key) == nil { unseen.append((key, table.name)) }
                return unseen.count < limit
            }
        }
        return unseen
    }

    /// Ends the fetch.
    package func end() throws { try log.forgetNotes(.seen, in: slot) }

    /// Forgets what is noted of single records while changes are fetched, because all of them are to
    /// be fetched again.
    package func forgetFetched() throws {
        for kind in [SyncNotes.seen, .missed, .incomplete, .undelivered] {
            try log.forgetNotes(kind, in: slot)
        }
    }
}
