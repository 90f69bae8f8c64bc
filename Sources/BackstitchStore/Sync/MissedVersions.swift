package import BackstitchCore
import LMDB

/// Versions of the service that were met and not taken over, because the record was parked.
///
/// As long as a record has something to push, the service answers with its version again. Once its
/// edits are given up nobody would: the feed was read past that version. So it is looked up then.
extension WriteContext {
    /// Notes that the service has another version of a record than the one that is known here.
    func noteMissedVersion(of key: RecordKey) throws {
        try setMeta(MetaName.missedPrefix + key.name.description, [])
    }

    /// Forgets that, because the version was looked up and taken over.
    package func forgetMissedVersion(of key: RecordKey) throws {
        try deleteMeta(MetaName.missedPrefix + key.name.description)
    }
}

extension TableReader {
    /// The records with a missed version and nothing to push.
    package func missedRecords(limit: Int) throws -> [RecordKey] {
        var keys: [RecordKey] = []
        let prefix = Array(MetaName.missedPrefix.utf8)
        try prefix.withUnsafeBytes { prefix in
            try access.withCursor(in: databases.meta) { cursor in
                var isThere = try cursor.seek(atOrAfter: prefix)
                while isThere, cursor.key.begins(with: prefix), keys.count < limit {
                    let name = cursor.key.part(prefix.count..<cursor.key.count)
                    let key = RecordKey(RecordName(String(decoding: name, as: UTF8.self)))
                    let isDirty = try catalog.tables.contains {
                        try row($0.number, key)?.isDirty == true
                    }
                    if !isDirty { keys.append(key) }
                    isThere = try cursor.next()
                }
            }
        }
        return keys
    }
}
