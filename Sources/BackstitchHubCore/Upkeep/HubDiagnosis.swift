/// The result of a diagnosis of what a hub keeps.
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
    ///
    /// It reads them in parts, each in a transaction of its own: what rows say of one another is compared
    /// within one moment, while a hub may write.
    package init(
        of storage: any SnapshotStorage, _ files: any HubFiles,
        checkingPages check: () throws -> Void = {}
    ) throws {
        do {
            try check()
        } catch {
            note("\(error)")
            return
        }
        try storage.snapshot(RequestWork()) { transaction in
            transaction.expect { [.key(StateRow.key)] }
            do { _ = try transaction.state() } catch { note("\(error)") }
        }
        // All partitions, and tables that this version does not know.
        for first in UInt8.min...UInt8.max {
            let prefix = unsafe withUnsafeBytes(of: first) { unsafe HubKey(bytes: $0) }
            var start: HubKey?
            repeat {
                // A transaction may run again.
                let part = try storage.snapshot(RequestWork()) {
                    try DiagnosedPart(of: prefix, from: start, self, $0, files)
                }
                (self, start) = (part.diagnosis, part.next)
                for file in part.objects where try !files.holds(file) {
                    note(
                        "The file '\(file.text)' is missing in the bucket. Restore it from a "
                            + "backup.")
                }
            } while start != nil
        }
    }
}

/// Rows that follow one another, looked at in one transaction.
private struct DiagnosedPart {
    /// An entry that has to be there because another one says so.
    @safe private struct Check {
        var key: HubKey
        /// What is wrong if it is not.
        var finding: String
        var isRight: (UnsafeRawBufferPointer) throws -> Bool = { _ in true }
    }

    private(set) var diagnosis: HubDiagnosis
    /// Where the next part begins; nil if there is none.
    private(set) var next: HubKey?
    /// The objects of files that records hold. Whether they are there is asked after the transaction.
    private(set) var objects: [HubFile] = []
    private var wanted: [HubFile] = []
    private var checks: [Check] = []

    init(
        of prefix: HubKey, from start: HubKey?, _ diagnosis: HubDiagnosis,
        _ transaction: any HubReading, _ files: any HubFiles
    ) throws {
        self.diagnosis = diagnosis
        let count = KeyQuery.entriesPerPart
        var rows = 0
        transaction.expect {
            [.part(of: prefix, from: start, countMax: count, namesUnder: nil)]
        }
        try unsafe transaction.scan(prefix, from: start) { key, value in
            rows += 1
            do {
                try unsafe look(at: HubKey(bytes: key), value, files)
            } catch {
                self.diagnosis.note("\(error)")
            }
            if rows == count { next = unsafe HubKey(bytes: key).adding([0]) }
            return rows < count
        }
        self.diagnosis.rows += rows
        transaction.expect { wanted.map { ObjectRow.expected($0) } }
        for file in wanted { try lookForObject(of: file, transaction, files) }
        transaction.expect { checks.map { .key($0.key) } }
        for check in checks {
            do {
                let isRight = try unsafe transaction.withValue(check.key) {
                    try unsafe check.isRight($0)
                }
                if isRight != true { self.diagnosis.note(check.finding) }
            } catch {
                self.diagnosis.note("\(error)")
            }
        }
    }

    /// Looks at one entry. Tables whose rows are read only when they are needed are read here.
    private mutating func look(
        at key: HubKey, _ value: UnsafeRawBufferPointer, _ assets: any HubFiles
    ) throws {
        guard let partition = key.partition else { return }
        let bytes = unsafe Array(value)
        let zone = key.behindTable.prefix(4)
        switch key.table {
        case .record:
            diagnosis.records += 1
            let record = try unsafe StoredRecord(recordName: "", stored: value)
            unsafe checks.append(
                Check(
                    key: HubKey(partition, .feed).adding(zone).adding(record.sequence),
                    finding: "The change feed of a zone lacks a record. Restore a backup."))
        case .feed:
            unsafe checks.append(
                Check(
                    key: HubKey(partition, .record).adding(zone).adding(bytes),
                    finding:
                        "The change feed of a zone names a record that is not there. Restore a backup."
                ))
        case .asset:
            let row = try AssetRow(stored: bytes)
            let checksum = String(decoding: key.behindTable, as: UTF8.self)
            guard row.references > 0 else { return }
            diagnosis.files += 1
            if let file = HubFile(partition, checksum), try !assets.holds(file) {
                wanted.append(file)
            }
        case .databaseName:
            let row = try DatabaseNameRow(stored: bytes)
            unsafe checks.append(
                Check(
                    key: DatabaseRow.key(row.partition),
                    finding: "A database is not where its name says. Restore a backup."
                ) { try unsafe DatabaseRow(stored: Array($0)).name.key == key })
        case .realm: _ = try RealmRow(stored: bytes)
        case .apiToken: _ = try APITokenRow(stored: bytes)
        case .user: try look(at: UserRow(stored: bytes), key)
        case .webToken: _ = try WebTokenRow(stored: bytes)
        case .serverKey: _ = try ServerKeyRow(stored: bytes)
        case .database: _ = try DatabaseRow(stored: bytes)
        case .history: _ = try FeedHistory(stored: bytes)
        case .zone: _ = try ZoneRow(stored: bytes)
        case .subscription: _ = try SubscriptionRow(stored: bytes)
        case .pushToken: _ = try PushTokenRow(stored: bytes)
        case .password: _ = try PasswordRow(stored: bytes)
        case .signInCode: _ = try SignInCodeRow(stored: bytes)
        case .upload: _ = try UploadRow(stored: bytes)
        case .object: _ = try ObjectRow(stored: bytes)
        default: break
        }
    }

    /// Looks for the object of a file that is not in the folder.
    private mutating func lookForObject(
        of file: HubFile, _ transaction: any HubReading, _ files: any HubFiles
    ) throws {
        let located = try transaction.located(file)
        guard located.object != nil else {
            return diagnosis.note(
                "The file '\(file.checksum)' is missing in the folder "
                    + "'assets/\(file.partition.text)'. Restore a backup.")
        }
        if files.objects != nil { return objects.append(located) }
        let finding = HubObjects.bucketMissing.message
        if !diagnosis.findings.contains(finding) { diagnosis.note(finding) }
    }

    /// Has the entries looked for that find a user.
    private mutating func look(at user: UserRow, _ key: HubKey) {
        let realm = key.behindTable.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        for key in UserIndex.keys(of: user, realm: realm) {
            unsafe checks.append(
                Check(
                    key: key,
                    finding:
                        "The user '\(user.userRecordName)' can't sign in by name, or be found by "
                        + "address. 'users rename', to the same name, mends it."))
        }
    }
}
