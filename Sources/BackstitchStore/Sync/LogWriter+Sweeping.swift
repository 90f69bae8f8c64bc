package import BackstitchCore
package import BackstitchLog
import LMDB

/// A full fetch of a zone: what was seen is marked, and what was not is swept out at its end.
extension LogWriter {
    /// Marks a record as seen. No record here has an impossible name, so that needs no mark.
    package func markSeen(_ recordName: String) throws {
        guard RecordName(recordName).violation == nil else { return }
        try setMeta(MetaName.seenPrefix + recordName, [])
    }

    /// Ends a full fetch: records that the service had and has no more are merged with their end, as
    /// though the service had told it. So they are deleted if they are not edited here, and the
    /// policy decides where they are.
    ///
    /// Edited ones can't just stay until they are pushed: edits that are taken back before that
    /// leave nothing to push, and the record would pass for one that the service has.
    /// - Returns: what became of each record that was not seen.
    package func sweep(
        policy: ConflictSettings
    ) throws -> [(result: MergeResult, key: RecordKey, entityName: String)] {
        var gone: [(key: RecordKey, entityName: String)] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, row in
                guard row.hasChangeTag, let key = RecordKey(reading: bytes) else { return true }
                if try reader.meta(MetaName.seenPrefix + key.name.description) == nil {
                    gone.append((key, table.name))
                }
                return true
            }
        }
        try forget(MetaName.seenPrefix)
        return try gone.map { key, name in
            (try mergeAbsent(key, recordType: name, policy: policy), key, name)
        }
    }

    /// Forgets what is noted of single records while changes are fetched, because all of them are to
    /// be fetched again.
    package func forgetFetched() throws {
        try forget(MetaName.seenPrefix)
        try forget(MetaName.missedPrefix)
        try forget(MetaName.incompletePrefix)
        hasIncomplete = false
    }

    /// Forgets the deletes that the service never heard of, because everything here ends.
    func forgetUnheardEnds() throws {
        try forget(MetaName.unheardPrefix)
        hasUnheardEnds = false
    }

    private func forget(_ prefix: String) throws {
        let prefix = Array(prefix.utf8)
        try prefix.withUnsafeBytes { prefix in
            try access.withCursor(in: databases.meta) { cursor in
                var isThere = try cursor.seek(atOrAfter: prefix)
                while isThere, cursor.key.begins(with: prefix) {
                    try cursor.delete()
                    isThere = try cursor.next()
                }
            }
        }
    }
}
