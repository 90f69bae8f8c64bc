import CloudKitWire

// What databases take up: of each live record its name, its fields as they are stored, and the files
// that it holds. A file counts for each record that holds it.

extension StoredRecord {
    /// What the record takes up of its user's space, in bytes; nothing after its end.
    func spaceBytes() throws(HubFailure) -> Int64 {
        guard !isDeleted else { return 0 }
        let own = Int64(recordName.utf8.count + fieldsJSON.count)
        return own + (hasAssets ? try fields().assetBytes : 0)
    }
}

extension WireFields {
    /// The size of the files that fields hold, in bytes.
    fileprivate var assetBytes: Int64 {
        values.flatMap { $0.value?.elements ?? [] }.reduce(0) { sum, value in
            guard case .asset(let asset) = value else { return sum }
            return sum + (asset.size ?? 0)
        }
    }
}

extension ModifyPlan {
    /// By how much the plan makes a zone larger, in bytes.
    func growth() throws(HubFailure) -> Int64 {
        var growth: Int64 = 0
        for write in writes {
            growth += try write.after.spaceBytes() - (write.before?.spaceBytes() ?? 0)
        }
        return growth
    }
}

extension HubLimits {
    /// How many bytes may still come into a database; nil for no limit.
    func bytesLeft(in database: DatabaseRow, isPublic: Bool) -> Int64? {
        let most = isPublic ? publicDatabaseBytes : privateDatabaseBytes
        return most.map { max(0, $0 - (database.bytes ?? 0)) }
    }
}

extension HubLimits {
    /// How many bytes may still come into the database of a key.
    func bytesLeft(in database: DatabaseRow, key: HubKey) -> Int64? {
        let name = key.bytes.dropFirst(1 + MemoryLayout<UInt32>.size)
        return bytesLeft(
            in: database, isPublic: name.starts(with: WireDatabase.public.rawValue.utf8))
    }
}

extension HubWriting {
    /// Counts what the zones of a database take up, if that was not done yet: the database is of
    /// a version that did not count.
    func countBytes(of database: inout DatabaseRow, _ access: DatabaseAccess) throws {
        guard database.bytes == nil else { return }
        var total: Int64 = 0
        for var zone in try zones(database) {
            let bytes = try recordBytes(of: zone)
            zone.bytes = bytes
            total += bytes
            try put(ZoneRow.key(database: database.number, zone.zoneName), zone)
        }
        database.bytes = total
        try put(access.key, database)
    }
}

extension HubReading {
    /// What the records of a zone take up, counted one by one.
    func recordBytes(of zone: ZoneRow) throws -> Int64 {
        var bytes: Int64 = 0
        let prefix = HubKey(.record).adding(zone.number)
        try scan(prefix, from: nil) { key, value in
            let name = key.text(behind: prefix)
            bytes += try StoredRecord(recordName: name, stored: value).spaceBytes()
            return true
        }
        return bytes
    }
}
