import BackstitchCore
import CloudKitWire

/// A stretch of a zone's feed.
struct ZoneFeed {
    var records: [StoredRecord] = []
    /// The position after which the next stretch starts.
    var sequence: UInt64
    var moreComing = false

    /// Reads the records that changed after a position, oldest change first.
    ///
    /// - Complexity: O(*n*) in the records of the stretch.
    init(
        of zone: ZoneRow, after position: UInt64, count: Int, bytes: Int,
        _ transaction: any HubReading
    ) throws {
        sequence = zone.sequence
        let prefix = HubKey(.feed).adding(zone.number)
        let view = StoredZoneView(transaction: transaction, zone: zone.number, now: 0)
        var records: [StoredRecord] = []
        var size = 0
        var cut: UInt64?
        try transaction.scan(prefix, from: prefix.adding(position + 1)) { key, value in
            if records.count == count || (size >= bytes && !records.isEmpty) {
                cut = records.last?.sequence
                return false
            }
            guard let record = try view.record(String(decoding: value, as: UTF8.self)) else {
                throw HubFailure(
                    "The hub's data is damaged: the feed names a record that is not there. Restore "
                        + "a backup.")
            }
            size += record.fieldsJSON.count
            records.append(record)
            return true
        }
        self.records = records
        if let cut {
            sequence = cut
            moreComing = true
        }
    }

    /// As above, latest change first: those before a position.
    init(
        of zone: ZoneRow, before position: UInt64, count: Int, _ transaction: any HubReading
    ) throws {
        let prefix = HubKey(.feed).adding(zone.number)
        let view = StoredZoneView(transaction: transaction, zone: zone.number, now: 0)
        var records: [StoredRecord] = []
        var moreComing = false
        try transaction.scanBackwards(prefix, before: prefix.adding(position)) { _, value in
            if records.count == count {
                moreComing = true
                return false
            }
            if let record = try view.record(String(decoding: value, as: UTF8.self)) {
                records.append(record)
            }
            return true
        }
        self.records = records
        self.moreComing = moreComing
        sequence = records.last?.sequence ?? 0
    }
}
