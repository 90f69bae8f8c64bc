import BackstitchCore
import CloudKitWire

/// Writes what a plan decided.
struct ZoneWriter {
    /// The most tombstones, and keys of deleted zones, that a write removes in passing; or twice as
    /// many as it adds, so that they become fewer.
    private static let removalsMax = 256
    /// The most bytes of records of deleted zones that are read for it.
    private static let removedBytesMax = 4 << 20

    let transaction: any HubWriting
    /// The partition of the zones' database.
    let partition: Partition
    /// Milliseconds since 1970.
    let now: Int64
    let limits: HubLimits
    let assets: any HubFiles

    /// What is read to see whether deleted zones left something.
    static func expected(in partition: Partition) -> [KeyQuery] {
        [.first(1, of: HubKey(partition, .endedZone))]
    }

    /// What is read to see whether tombstones of a zone are old: mostly the first one is not.
    static func expected(of zone: ZonePlace) -> [KeyQuery] {
        [.first(1, of: zone.key(.tombstone), under: zone.key(.record))]
    }

    /// Writes all changes of a plan, and moves the zone's position on.
    func write(_ plan: ModifyPlan, to zone: inout ZoneRow) throws {
        for write in plan.writes { try self.write(write, zone.place(in: partition)) }
        zone.sequence += UInt64(plan.writes.count)
        try removeOldTombstones(of: &zone, max: max(Self.removalsMax, 2 * plan.writes.count))
        try removeEndedZones()
    }

    private func write(_ write: ModifyPlan.Write, _ zone: ZonePlace) throws {
        let name = write.after.recordName
        let (feed, tombstones) = (zone.key(.feed), zone.key(.tombstone))
        if let before = write.before {
            try transaction.delete(feed.adding(before.sequence))
            if before.isDeleted { try transaction.delete(tombstones.adding(before.sequence)) }
            if !before.isDeleted,
                write.after.isDeleted || before.recordType != write.after.recordType
            {
                try transaction.delete(Self.typeKey(zone, before))
            }
        }
        try transaction.put(feed.adding(write.after.sequence), Array(name.utf8))
        try transaction.put(StoredRecord.key(zone, name), write.after.stored)
        if write.after.isDeleted {
            try transaction.put(tombstones.adding(write.after.sequence), Array(name.utf8))
        } else if write.before?.isDeleted != false {
            try transaction.put(Self.typeKey(zone, write.after), [])
        }
        if !write.linksBefore.isEmpty || !write.linksAfter.isEmpty {
            try writeLinks(of: write, zone)
        }
        for checksum in write.assetsAfter { try count(checksum, by: 1) }
        for checksum in write.assetsBefore { try count(checksum, by: -1) }
    }

    private func writeLinks(of write: ModifyPlan.Write, _ zone: ZonePlace) throws {
        let name = write.after.recordName
        let (linksBefore, linksAfter) = (Set(write.linksBefore), Set(write.linksAfter))
        for link in write.linksBefore where !linksAfter.contains(link) {
            try transaction.delete(link.key(zone, source: name))
        }
        for link in write.linksAfter where !linksBefore.contains(link) {
            try transaction.put(link.key(zone, source: name), Array(link.target.utf8))
        }
    }

    static func typeKey(_ zone: ZonePlace, _ record: StoredRecord) -> HubKey {
        zone.key(.type).adding(hashed: record.recordType).adding(record.recordName)
    }

    private func count(_ checksum: String, by change: Int64) throws {
        guard let file = HubFile(partition, checksum) else { throw StoredRecordView.damage }
        let key = AssetRow.key(file)
        var row: AssetRow = try transaction.row(key) ?? AssetRow()
        row.references += change
        try transaction.put(key, row)
        guard row.references <= 0 else { return }
        // Addresses that were told of it are good for a time.
        let end = now + limits.addressMilliseconds + limits.unusedAssetMilliseconds
        try transaction.keepAsset(file, until: end)
    }

    // MARK: Removing in passing

    private func removeOldTombstones(of zone: inout ZoneRow, max most: Int) throws {
        let place = zone.place(in: partition)
        let (prefix, records, feed) = (place.key(.tombstone), place.key(.record), place.key(.feed))
        let oldest = now - limits.tombstoneMilliseconds
        let horizon =
            zone.sequence > limits.tombstoneChanges
            ? zone.sequence - limits.tombstoneChanges : 0
        var old: [(sequence: UInt64, name: [UInt8])] = []
        try unsafe transaction.scan(prefix, from: nil) { key, value in
            let sequence = unsafe key.number(behind: prefix)
            let name = unsafe Array(value)
            let isOld = try unsafe transaction.withValue(records.adding(name)) {
                try unsafe sequence <= horizon || StoredRecordView($0).modified < oldest
            }
            // Later ones are younger. One whose record is not there goes, too.
            guard isOld ?? true else { return false }
            old.append((sequence, name))
            if old.count == 1 {
                transaction.expect { [.first(most, of: prefix, under: records)] }
            }
            return old.count < most
        }
        for (sequence, name) in old {
            try transaction.delete(records.adding(name))
            try transaction.delete(prefix.adding(sequence))
            try transaction.delete(feed.adding(sequence))
            zone.floor = max(zone.floor, sequence)
        }
    }

    /// Removes keys of deleted zones, and more of them than the request wrote. The space of a deleted zone
    /// counts as free at once; without this, a client could fill the disk by deleting zones.
    func removeEndedZones() throws {
        // No request adds more to a zone; one that writes much besides need not make up for it.
        let most = limits.linksPerRequest + 8 * limits.operationsPerRequest
        var left = max(Self.removalsMax, 2 * min(transaction.work.meter.keysWritten, most))
        var bytes = 0
        while left > 0, bytes < Self.removedBytesMax, let ended = try firstEndedZone() {
            let keys = try keys(of: ended, max: left, &bytes)
            for key in keys { try transaction.delete(key) }
            if keys.count < left, bytes < Self.removedBytesMax { try transaction.delete(ended) }
            left -= keys.count + 1
        }
    }

    private func firstEndedZone() throws -> HubKey? {
        var ended: HubKey?
        try unsafe transaction.scan(HubKey(partition, .endedZone), from: nil) { key, _ in
            ended = unsafe HubKey(bytes: key)
            return false
        }
        return ended
    }

    /// Keys of a deleted zone, of whose files they are no more to count.
    private func keys(of ended: HubKey, max most: Int, _ bytes: inout Int) throws -> [HubKey] {
        let number = ended.behindTable
        var keys: [HubKey] = []
        let tables: [HubKey.Table] = [.record, .feed, .link, .type, .tombstone]
        transaction.expect {
            tables.map { .first(most, of: HubKey(partition, $0).adding(number)) }
        }
        for table in tables where keys.count < most && bytes < Self.removedBytesMax {
            try unsafe transaction.scan(HubKey(partition, table).adding(number), from: nil) {
                key, value in
                // Copied first: the entry's bytes don't survive a write.
                unsafe keys.append(HubKey(bytes: key))
                if table == .record { try unsafe releaseAssets(of: value, &bytes) }
                return keys.count < most && bytes < Self.removedBytesMax
            }
        }
        return keys
    }

    private func releaseAssets(
        of stored: UnsafeRawBufferPointer, _ bytes: inout Int
    ) throws {
        guard try unsafe StoredRecordView(stored).hasAssets else { return }
        let record = try unsafe StoredRecord(recordName: "", stored: stored)
        bytes += record.fieldsJSON.count
        for checksum in try record.fields().assetChecksums { try count(checksum, by: -1) }
    }
}
