/// What a look at a hub's folder found.
public struct HubDiagnosis: Hashable, Sendable {
    /// The most findings that are told.
    static let findingsMax = 100

    /// What is wrong, the first ones.
    public var findings: [String] = []
    /// How many entries were read.
    public var rows = 0
    /// How many of them are records, tombstones included.
    public var records = 0
    /// How many files records hold.
    public var files = 0

    /// Whether nothing is wrong.
    public var isHealthy: Bool { findings.isEmpty }

    mutating func note(_ finding: String) {
        if findings.count < Self.findingsMax { findings.append(finding) }
    }
}

extension HubDiagnosis {
    /// Looks at all rows of a storage, after its pages.
    package init(
        of storage: any HubStorage, _ files: any HubFiles, checkingPages check: () throws -> Void
    ) throws {
        do {
            try check()
        } catch {
            note("\(error)")
            return
        }
        try storage.read { transaction in
            do { _ = try transaction.state() } catch { note("\(error)") }
            // Tables that this version does not know are counted too.
            for table in UInt8.min...UInt8.max {
                let prefix = withUnsafeBytes(of: table) { HubKey(bytes: $0) }
                try transaction.scan(prefix, from: nil) { key, value in
                    rows += 1
                    do {
                        try look(at: HubKey(bytes: key), value, transaction, files)
                    } catch {
                        note("\(error)")
                    }
                    return true
                }
            }
        }
    }
}

extension HubDiagnosis {
    /// Looks at one entry. Tables whose rows are read only when they are needed are read here.
    fileprivate mutating func look(
        at key: HubKey, _ value: UnsafeRawBufferPointer, _ transaction: any HubReading,
        _ assets: any HubFiles
    ) throws {
        let bytes = Array(value)
        let zone = key.bytes.dropFirst().prefix(4)
        switch key.bytes.first.flatMap(HubKey.Table.init) {
        case .record:
            records += 1
            let record = try StoredRecord(recordName: "", stored: value)
            let feed = HubKey(.feed).adding(zone).adding(record.sequence)
            if try transaction.value(feed) == nil {
                note("The change feed of a zone lacks a record. Restore a backup.")
            }
        case .feed:
            let name = HubKey(.record).adding(zone).adding(bytes)
            if try transaction.withValue(name, { _ in true }) == nil {
                note(
                    "The change feed of a zone names a record that is not there. Restore a backup.")
            }
        case .asset:
            let row = try AssetRow(stored: bytes)
            let checksum = String(decoding: key.bytes.dropFirst(), as: UTF8.self)
            guard row.references > 0 else { return }
            files += 1
            if !assets.holds(checksum) {
                note("The file '\(checksum)' is missing in the folder 'assets'. Restore a backup.")
            }
        case .realm: _ = try RealmRow(stored: bytes)
        case .apiToken: _ = try APITokenRow(stored: bytes)
        case .user: _ = try UserRow(stored: bytes)
        case .webToken: _ = try WebTokenRow(stored: bytes)
        case .serverKey: _ = try ServerKeyRow(stored: bytes)
        case .database: _ = try DatabaseRow(stored: bytes)
        case .zone: _ = try ZoneRow(stored: bytes)
        case .subscription: _ = try SubscriptionRow(stored: bytes)
        case .pushToken: _ = try PushTokenRow(stored: bytes)
        case .upload: _ = try UploadRow(stored: bytes)
        default: break
        }
    }
}
