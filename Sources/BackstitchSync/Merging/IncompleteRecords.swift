import BackstitchCore
import BackstitchLog

/// Records of the service that could not be stored whole, because the catalog has no number left for
/// their type or for some of their fields. A note in `meta` stands for each, until a version of the
/// record is stored whole or the record ends.
struct IncompleteRecords {
    let log: LogWriter

    /// Notes what a version of a record that was merged lacks here, or that it lacks nothing.
    func note(_ record: ServiceRecord, of key: RecordKey) throws {
        let table = log.catalog.table(named: record.recordType)
        let leftOut = table.map { table in
            // As long as there is room every field has a number.
            table.attributes.count < Catalog.undeclaredMax
                ? 0 : record.fields.count { $1 != .null && table.attribute(named: $0) == nil }
        }
        if leftOut == 0, try !log.mayHaveNotes(.incomplete, in: key.zone) { return }
        if let table {
            // Another version than the one that is known says nothing of that one.
            guard let row = try log.reader.row(table.number, key), row.changeTag == record.changeTag
            else { return }
        }
        if leftOut == 0 { return try log.forgetNote(.incomplete, key) }
        let value =
            UInt32(clamping: leftOut ?? 0).bigEndianBytes
            + UInt16(table?.attributes.count ?? 0).bigEndianBytes
        try log.note(.incomplete, key, value + record.recordType.utf8)
    }

    /// How many records could not be stored whole.
    static func count(_ reader: TableReader) throws -> Int {
        try reader.meta.countNotes(.incomplete)
    }

    /// The records of a zone that could not be stored whole and for which there are more numbers by now: because
    /// a schema declares their type, or fields of it.
    static func completable(
        _ reader: TableReader, in slot: UInt8, limit: Int
    ) throws -> [RecordKey] {
        var keys: [RecordKey] = []
        guard limit > 0 else { return [] }
        try reader.meta.visitNotes(.incomplete, in: slot) { key, value in
            guard value.count > 6,
                let table = reader.catalog.table(
                    named: String(decoding: value[6...], as: UTF8.self))
            else { return true }
            let before = Int(value.bigEndian(UInt16.self, at: 4))
            if table.attributes.count > before { keys.append(key) }
            return keys.count < limit
        }
        return keys
    }
}
