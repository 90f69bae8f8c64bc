package import BackstitchCore
package import BackstitchLog
import LMDB

/// A version of the service that was met and not taken over, because the record was parked.
///
/// As long as a record has something to push, the service answers with its version again. Once its
/// edits are given up nobody would: the feed was read past that version. So it is looked up then.
package struct MissedVersion {
    package let key: RecordKey
    /// When the service saved it; nil if the record does not exist there.
    package let modifiedMilliseconds: Int64?
    /// Whether the record ended here because a lookup did not find it, and is looked up once more.
    package let isDoubted: Bool
}

extension LogWriter {
    /// Notes that the service has another version of a record than the one that is known here.
    func noteMissedVersion(of key: RecordKey, _ server: ServerState) throws {
        var modified: Int64?
        if case .present(let version, _, _) = server { modified = version.modifiedMilliseconds }
        try noteMissedVersion(of: key, modifiedMilliseconds: modified)
    }

    /// Notes that the service has the version of a record that was evicted, if a record of the
    /// same name begins.
    func noteEvictedVersion(of key: RecordKey, modifiedMilliseconds: Int64) throws {
        try noteMissedVersion(of: key, modifiedMilliseconds: modifiedMilliseconds)
    }

    /// Merges the end of a record that a lookup told.
    ///
    /// A replica that lags behind may have answered, and the feed may have been read past the version
    /// that there is: then nothing else would tell of it. So it is looked up once more.
    package func mergeDoubtedEnd(
        of key: RecordKey, recordType: String, policy: ConflictSettings
    ) throws -> MergeResult {
        var known: Int64?
        if let table = catalog.table(named: recordType),
            let row = try reader.row(table.number, key), row.hasChangeTag
        {
            known = row.modifiedMilliseconds
        }
        let result = try mergeAbsent(key, recordType: recordType, policy: policy)
        switch result {
        case .applied, .conflict:
            if let known {
                try noteMissedVersion(of: key, modifiedMilliseconds: known, isDoubted: true)
            }
        case .unchanged, .parked, .undecided, .rejected: break
        }
        return result
    }

    private func noteMissedVersion(
        of key: RecordKey, modifiedMilliseconds: Int64?, isDoubted: Bool = false
    ) throws {
        var value: [UInt8] = []
        if let modifiedMilliseconds {
            withUnsafeBytes(of: modifiedMilliseconds.bigEndian) { value += $0 }
        }
        if isDoubted { value.append(1) }
        try setMeta(MetaName.missedPrefix + key.name.description, value)
    }

    /// Forgets that, because a version was taken over.
    package func forgetMissedVersion(of key: RecordKey) throws {
        let name = MetaName.missedPrefix + key.name.description
        if try reader.meta(name) != nil { try deleteMeta(name) }
    }
}

extension TableReader {
    /// Whether any record has a missed version.
    var hasMissedVersions: Bool {
        get throws {
            var isFound = false
            try visitMeta(MetaName.missedPrefix) { _, _ in
                isFound = true
                return false
            }
            return isFound
        }
    }

    /// When the service saved a record's missed version; the end of time if none was missed.
    ///
    /// After a restore from a backup that version is older than the one known here. The service's
    /// answers are then as old as it, and no replica that lags behind gave them.
    func missedMilliseconds(of key: RecordKey) throws -> Int64 {
        guard let time = try meta(MetaName.missedPrefix + key.name.description), time.count >= 8
        else { return .max }
        return time.withUnsafeBytes { Int64(bitPattern: $0.part(0..<8).sequence) }
    }

    /// The missed versions of records that have nothing to push.
    package func missedVersions(limit: Int) throws -> [MissedVersion] {
        var versions: [MissedVersion] = []
        guard limit > 0 else { return [] }
        try visitMeta(MetaName.missedPrefix) { name, time in
            let key = RecordKey(RecordName(name))
            let isDirty = try catalog.tables.contains {
                try row($0.number, key)?.isDirty == true
            }
            if !isDirty {
                versions.append(
                    MissedVersion(
                        key: key,
                        modifiedMilliseconds: time.count >= 8
                            ? Int64(bitPattern: time.part(0..<8).sequence) : nil,
                        isDoubted: time.count == 9))
            }
            return versions.count < limit
        }
        return versions
    }
}
