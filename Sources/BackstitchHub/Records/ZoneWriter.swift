import CloudKitWire

/// Writes what a plan decided.
struct ZoneWriter {
    /// The most tombstones and remains of deleted zones that a write removes in passing.
    private static let removalsMax = 256

    let transaction: any HubWriting
    /// Milliseconds since 1970.
    let now: Int64
    let limits: HubLimits
    let assets: AssetFiles

    /// Writes all changes of a plan, and moves the zone's position on.
    func write(_ plan: ModifyPlan, to zone: inout ZoneRow) throws {
        for write in plan.writes { try self.write(write, zone.number) }
        zone.sequence += UInt64(plan.writes.count)
        try removeOldTombstones(of: &zone)
        try removeEndedZones()
        try ExpirySweep(transaction: transaction, assets: assets, limits: limits, now: now).run()
    }

    private func write(_ write: ModifyPlan.Write, _ zone: UInt32) throws {
        let name = write.after.recordName
        let feed = HubKey(.feed).adding(zone)
        let tombstones = HubKey(.tombstone).adding(zone)
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
        try transaction.put(StoredRecord.key(zone: zone, name), write.after.stored)
        if write.after.isDeleted {
            try transaction.put(tombstones.adding(write.after.sequence), Array(name.utf8))
        } else if write.before?.isDeleted != false {
            try transaction.put(Self.typeKey(zone, write.after), [])
        }
        for link in write.linksBefore where !write.linksAfter.contains(link) {
            try transaction.delete(link.key(zone: zone, source: name))
        }
        for link in write.linksAfter where !write.linksBefore.contains(link) {
            try transaction.put(link.key(zone: zone, source: name), Array(link.target.utf8))
        }
        for checksum in write.assetsAfter { try count(checksum, by: 1) }
        for checksum in write.assetsBefore { try count(checksum, by: -1) }
    }

    static func typeKey(_ zone: UInt32, _ record: StoredRecord) -> HubKey {
        HubKey(.type).adding(zone).adding(hashed: record.recordType).adding(record.recordName)
    }

    private func count(_ checksum: String, by change: Int64) throws {
        let key = AssetRow.key(checksum: checksum)
        var row: AssetRow = try transaction.row(key) ?? AssetRow()
        row.references += change
        try transaction.put(key, row)
        guard row.references <= 0 else { return }
        // Addresses that were told of it are good for a time.
        let end = now + limits.addressMilliseconds + limits.unusedAssetMilliseconds
        try transaction.keepAsset(checksum, until: end)
    }

    // MARK: Removing in passing

    private func removeOldTombstones(of zone: inout ZoneRow) throws {
        let prefix = HubKey(.tombstone).adding(zone.number)
        var old: [(sequence: UInt64, name: String)] = []
        try transaction.scan(prefix, from: nil) { key, value in
            old.append((key.number(behind: prefix), String(decoding: value, as: UTF8.self)))
            return old.count < Self.removalsMax
        }
        for (sequence, name) in old {
            let key = StoredRecord.key(zone: zone.number, name)
            let record = try transaction.withValue(key) {
                try StoredRecord(recordName: name, stored: $0)
            }
            guard let record else { continue }
            guard record.modified < now - limits.tombstoneMilliseconds else { return }
            try transaction.delete(key)
            try transaction.delete(prefix.adding(sequence))
            try transaction.delete(HubKey(.feed).adding(zone.number).adding(sequence))
            zone.floor = max(zone.floor, sequence)
        }
    }

    /// Removes records of zones that were deleted.
    func removeEndedZones() throws {
        var ended: HubKey?
        try transaction.scan(HubKey(.endedZone), from: nil) { key, _ in
            ended = HubKey(bytes: key)
            return false
        }
        guard let ended else { return }
        let number = ended.bytes.dropFirst()
        var keys: [HubKey] = []
        let tables: [HubKey.Table] = [.record, .feed, .link, .type, .tombstone]
        for table in tables where keys.count < Self.removalsMax {
            try transaction.scan(HubKey(table).adding(number), from: nil) { key, value in
                // Copied first: the entry's bytes don't survive a write.
                keys.append(HubKey(bytes: key))
                if table == .record { try releaseAssets(of: value) }
                return keys.count < Self.removalsMax
            }
        }
        for key in keys { try transaction.delete(key) }
        if keys.isEmpty { try transaction.delete(ended) }
    }

    private func releaseAssets(of stored: UnsafeRawBufferPointer) throws {
        let record = try StoredRecord(recordName: "", stored: stored)
        guard record.hasAssets else { return }
        for checksum in try record.fields().assetChecksums { try count(checksum, by: -1) }
    }
}
