package import BackstitchCore
package import BackstitchLog

/// A full fetch of a zone: what was seen is marked, and what was not is swept out at its end.
package struct FullFetch {
    private let log: LogWriter

    package init(_ log: LogWriter) { self.log = log }

    /// Marks a record as seen. No record here has an impossible name, so that needs no mark.
    package func markSeen(_ recordName: String) throws {
        let name = RecordName(recordName)
        if name.violation == nil { try log.note(.seen, name) }
    }

    /// Ends a full fetch: records that the service had and has no more are merged with their end, as
    /// though the service had told it. So they are deleted if they are not edited here, and the
    /// policy decides if they are.
    ///
    /// Edited ones can't just stay until they are pushed: edits that are taken back before that
    /// leave nothing to push, and the record would pass for one that the service has.
    /// - Returns: What became of each record that was not seen.
    package func sweep(
        _ merger: RecordMerger
    ) throws -> [(result: MergeResult, key: RecordKey, entityName: String)] {
        var gone: [(key: RecordKey, entityName: String)] = []
        let reader = log.reader
        for table in log.catalog.tables {
            try unsafe reader.visitStoredRows(of: table.number) { bytes, row in
                guard row.hasChangeTag, let key = unsafe RecordKey(reading: bytes) else {
                    return true
                }
                if try reader.meta.note(.seen, key.name) == nil { gone.append((key, table.name)) }
                return true
            }
        }
        try log.forgetNotes(.seen)
        return try gone.map { key, name in
            (try merger.mergeAbsent(key, recordType: name), key, name)
        }
    }

    /// Forgets what is noted of single records while changes are fetched, because all of them are to
    /// be fetched again.
    package func forgetFetched() throws {
        for kind in [RecordNotes.seen, .missed, .incomplete] { try log.forgetNotes(kind) }
    }
}
