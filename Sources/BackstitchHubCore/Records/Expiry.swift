import CloudKitWire

/// Removes rows whose time is over, and files that nothing refers to any more.
///
/// Each such row has an entry in a table of its partition that is sorted by time. Writes to the partition
/// also remove some of the rows that are due, so that a hub that gets no writes does nothing.
struct Expiry {
    /// The most entries that a write looks at, beside two for each that it adds.
    private static let entriesMax = 32

    /// What is read to see whether something is due: mostly the first entry is not.
    static func expected(in partition: Partition) -> [KeyQuery] {
        [.first(1, of: HubKey(partition, .expiry))]
    }

    let transaction: any HubWriting
    /// Whose rows are looked at.
    let partition: Partition
    let assets: any HubFiles
    let limits: HubLimits
    /// Milliseconds since 1970.
    let now: Int64

    /// Removes what is due.
    func run() throws {
        let table = HubKey(partition, .expiry)
        let most = Self.entriesMax + 2 * transaction.work.expiries
        var due: [(entry: HubKey, row: HubKey)] = []
        try unsafe transaction.scan(table, from: nil) { key, _ in
            guard unsafe key.number(behind: table) <= UInt64(max(0, now)) else { return false }
            let start = table.bytes.count + MemoryLayout<UInt64>.size
            unsafe due.append((HubKey(bytes: key), HubKey(partition, behind: key[start...])))
            // The first one is mostly the last one.
            if due.count == 1 { transaction.expect { [.first(most, of: table)] } }
            return due.count < most
        }
        transaction.expect { due.flatMap { [.key($0.row)] + others(of: $0.row) } }
        for (entry, row) in due {
            try transaction.delete(entry)
            try look(at: row)
        }
    }

    /// What is read besides of a row that is due: the objects of a file, the database of a zone.
    private func others(of row: HubKey) -> [KeyQuery] {
        if row.table == .zone { return [.key(DatabaseRow.key(partition))] }
        guard row.table == .asset, assets.objects != nil,
            let file = HubFile(partition, String(decoding: row.behindTable, as: UTF8.self))
        else { return [] }
        return [ObjectRow.expected(file)]
    }

    private func look(at key: HubKey) throws {
        switch key.table {
        case .upload:
            guard let row: UploadRow = try transaction.row(key) else { return }
            guard row.expires <= now else { return }
            // First: a part that comes meanwhile finds no address.
            try transaction.delete(key)
            assets.discard(assets.partsPath(key.bytes))
        case .webToken:
            guard let row: WebTokenRow = try transaction.row(key) else { return }
            let end = row.idleEnd(limits) + limits.endedSessionMilliseconds
            if end > now { return try transaction.noteExpiry(of: key, at: end) }
            try transaction.delete(key)
        case .signInCode: try transaction.delete(key)
        case .zone:
            let row = DatabaseRow.key(partition)
            guard let zone: ZoneRow = try transaction.row(key), zone.isDeleted,
                zone.expires <= now, var database: DatabaseRow = try transaction.row(row)
            else { return }
            try transaction.forget(zone, in: &database, partition)
            try transaction.put(row, database)
        case .asset: try lookAtAsset(key)
        case .object: try lookAtObject(key)
        default: break
        }
    }

    /// How long it takes until an object is tried again to be removed, in milliseconds.
    static let objectRetryMilliseconds: Int64 = 5 * 60 * 1_000

    /// Gives up an object of which nothing came, and has one removed that was given up: not here, since
    /// records would wait for the bucket, and not before the commit that gives it up.
    private func lookAtObject(_ key: HubKey) throws {
        guard let row: ObjectRow = try transaction.row(key) else { return }
        switch row.state {
        case .kept: return
        // An earlier entry, of when it was arriving or was kept.
        case _ where row.until > now: return
        case .arriving: try transaction.doom(key, row, at: now)
        case .doomed:
            assets.objects?.note(key)
            try transaction.noteExpiry(of: key, at: now + Self.objectRetryMilliseconds)
        }
    }

    /// Removes a file that no record holds. It goes before its row: after a power cut in between the
    /// row is still there, and nothing needs the file.
    private func lookAtAsset(_ key: HubKey) throws {
        guard let row: AssetRow = try transaction.row(key), row.references <= 0,
            row.keepUntil <= now
        else { return }
        let checksum = String(decoding: key.behindTable, as: UTF8.self)
        if let file = HubFile(partition, checksum) {
            guard try assets.remove(file) else {
                return try transaction.noteExpiry(of: key, at: now + limits.unusedAssetMilliseconds)
            }
            if assets.objects != nil { try transaction.doomObjects(of: file, at: now) }
        }
        try transaction.delete(key)
    }
}

extension HubKey {
    /// The entry that has the row looked at once a time has come; nil if it is in no partition.
    fileprivate func expiry(at end: Int64) -> HubKey? {
        partition.map {
            HubKey($0, .expiry).adding(UInt64(max(0, end))).adding(behindPartition)
        }
    }
}

extension HubWriting {
    /// Has a row looked at once a time has come, with the rows of its partition.
    func noteExpiry(of key: HubKey, at end: Int64) throws {
        guard let entry = key.expiry(at: end) else { return }
        work.expiries += 1
        try put(entry, [])
    }

    /// Has a row not looked at that was to be; 0 if it was not.
    func forgetExpiry(of key: HubKey, at end: Int64) throws {
        guard end > 0, let entry = key.expiry(at: end) else { return }
        try delete(entry)
    }

    /// Keeps a file until a time at least.
    func keepAsset(_ file: HubFile, until end: Int64) throws {
        let key = AssetRow.key(file)
        var row: AssetRow = try row(key) ?? AssetRow()
        guard end > row.keepUntil else { return }
        row.keepUntil = end
        try put(key, row)
        try noteExpiry(of: key, at: end)
    }

    /// Writes an address or a receipt of an upload, which goes by itself.
    func put(_ row: UploadRow, at key: HubKey) throws {
        try put(key, row)
        try noteExpiry(of: key, at: row.expires)
    }
}
