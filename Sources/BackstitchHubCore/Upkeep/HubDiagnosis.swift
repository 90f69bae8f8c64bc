/// The result of a diagnosis of a hub's folder.
public struct HubDiagnosis: Hashable, Sendable {
    /// The most findings that are told.
    static let findingsMax = 100

    /// The first findings.
    public var findings: [String] = []
    /// How many entries were read.
    public var rows = 0
    /// How many of them are records, tombstones included.
    public var records = 0
    /// How many files records hold.
    public var files = 0

    /// Whether nothing is wrong.
    public var isHealthy: Bool { findings.isEmpty }

    package mutating func note(_ finding: String) {
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
        try storage.readNow { transaction in
            do { _ = try transaction.state() } catch { note("\(error)") }
            // All partitions, and tables that this version does not know.
            for first in UInt8.min...UInt8.max {
                let prefix = withUnsafeBytes(of: first) { HubKey(bytes: $0) }
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
        guard let partition = key.partition else { return }
        let bytes = Array(value)
        let zone = key.behindTable.prefix(4)
        switch key.table {
        case .record:
            records += 1
            let record = try StoredRecord(recordName: "", stored: value)
            let feed = HubKey(partition, .feed).adding(zone).adding(record.sequence)
            if try transaction.value(feed) == nil {
                note("The change feed of a zone lacks a record. Restore a backup.")
            }
        case .feed:
            let name = HubKey(partition, .record).adding(zone).adding(bytes)
            if try transaction.withValue(name, { _ in true }) == nil {
                note(
                    "The change feed of a zone names a record that is not there. Restore a backup.")
            }
        case .asset:
            let row = try AssetRow(stored: bytes)
            let checksum = String(decoding: key.behindTable, as: UTF8.self)
            guard row.references > 0 else { return }
            files += 1
            if let file = HubFile(partition, checksum), !assets.holds(file) {
                note(
                    "The file '\(checksum)' is missing in the folder 'assets/\(partition.text)'. "
                        + "Restore a backup.")
            }
        case .databaseName:
            let row = try DatabaseNameRow(stored: bytes)
            let database: DatabaseRow? = try transaction.row(DatabaseRow.key(row.partition))
            if database?.name.key != key {
                note("A database is not where its name says. Restore a backup.")
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
        case .password: _ = try PasswordRow(stored: bytes)
        case .signInCode: _ = try SignInCodeRow(stored: bytes)
        case .upload: _ = try UploadRow(stored: bytes)
        default: break
        }
    }
}
