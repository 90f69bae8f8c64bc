package import BackstitchCore
package import BackstitchLog
import LMDB

/// Records of the service that could not be stored whole, because the catalog has no number left for
/// their type or for some of their fields. A note in `meta` stands for each, until a version of the
/// record is stored whole or the record ends.
extension LogWriter {
    /// Notes what a version of a record that was merged lacks here, or that it lacks nothing.
    func noteIncomplete(_ record: ServiceRecord) throws {
        let key = RecordKey(RecordName(record.recordName))
        let table = catalog.table(named: record.recordType)
        let leftOut = table.map { table in
            // As long as there is room every field has a number.
            table.attributes.count < Catalog.undeclaredMax
                ? 0 : record.fields.count { $1 != .null && table.attribute(named: $0) == nil }
        }
        if leftOut == 0, try !looksForIncomplete() { return }
        if let table {
            // Another version than the one that is known says nothing of that one.
            guard let row = try reader.row(table.number, key), row.changeTag == record.changeTag
            else { return }
        }
        if leftOut == 0 { return try forgetIncomplete(key) }
        var value: [UInt8] = []
        withUnsafeBytes(of: UInt32(clamping: leftOut ?? 0).bigEndian) { value += $0 }
        withUnsafeBytes(of: UInt16(table?.attributes.count ?? 0).bigEndian) { value += $0 }
        try setMeta(
            MetaName.incompletePrefix + key.name.description, value + record.recordType.utf8)
        hasIncomplete = true
    }

    /// Forgets the note of a record, because it was stored whole or ended.
    func forgetIncomplete(_ key: RecordKey) throws {
        guard try looksForIncomplete() else { return }
        let name = MetaName.incompletePrefix + key.name.description
        if try reader.meta(name) != nil { try deleteMeta(name) }
    }

    /// Whether there may be notes.
    private func looksForIncomplete() throws -> Bool {
        let isThere = try hasIncomplete ?? reader.hasMeta(MetaName.incompletePrefix)
        hasIncomplete = isThere
        return isThere
    }

    /// Takes in a version of a record that could not be stored whole and can be by now.
    package func completeAgain(
        _ record: ServiceRecord, policy: ConflictSettings
    ) throws -> MergeResult {
        try complete(record)
        return try merge(record, policy: policy)
    }
}

extension TableReader {
    /// How many records of the service could not be stored whole.
    package var incompleteCount: Int {
        get throws {
            var count = 0
            try visitMeta(MetaName.incompletePrefix) { _, _ in
                count += 1
                return true
            }
            return count
        }
    }

    /// The records that could not be stored whole and for which there are more numbers by now: because
    /// a schema declares their type, or fields of it.
    package func completableRecords(limit: Int) throws -> [RecordKey] {
        var keys: [RecordKey] = []
        guard limit > 0 else { return [] }
        try visitMeta(MetaName.incompletePrefix) { name, value in
            guard value.count > 6,
                let table = catalog.table(
                    named: String(decoding: value.part(6..<value.count), as: UTF8.self))
            else { return true }
            let before = Int(value[4]) << 8 | Int(value[5])
            if table.attributes.count > before { keys.append(RecordKey(RecordName(name))) }
            return keys.count < limit
        }
        return keys
    }

    /// Whether `meta` has an entry whose name begins with a prefix.
    func hasMeta(_ prefix: String) throws -> Bool {
        var isThere = false
        try visitMeta(prefix) { _, _ in
            isThere = true
            return false
        }
        return isThere
    }
}
