import BackstitchCore
import BackstitchLog

/// How far a data migration came in a store; stored under its name.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | format version, 1 |
/// | 1 | 0 under way, 1 done |
/// | 8 | when it was done, or when its last part was, in milliseconds since 1970 |
/// | 8 | the number of records that it visited |
/// | n | under way: the key of the last record to be visited, then that of the last one that was, if any |
struct DataMigrationState: Equatable {
    static let formatVersion: UInt8 = 1
    private static let fixedByteCount = 18

    enum Progress: Equatable {
        case done
        /// The next part begins after `last`, or at the beginning, and `end` is the last record of all.
        case underWay(last: RecordKey?, end: RecordKey)
    }

    var progress: Progress
    var milliseconds: Int64
    var recordCount: UInt64

    init(_ progress: Progress, milliseconds: Int64, recordCount: UInt64) {
        self.progress = progress
        self.milliseconds = milliseconds
        self.recordCount = recordCount
    }

    /// Reads the stored form; nil for other bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixedByteCount, bytes[0] == Self.formatVersion, bytes[1] <= 1
        else { return nil }
        milliseconds = bytes.littleEndian(at: 2)
        recordCount = bytes.littleEndian(at: 10)
        guard bytes[1] == 0 else {
            progress = .done
            return
        }
        let keys = bytes[Self.fixedByteCount...]
        guard let end = RecordKey(reading: keys) else { return nil }
        let rest = keys.dropFirst(end.byteCount)
        let last = RecordKey(reading: rest)
        guard last != nil || rest.isEmpty else { return nil }
        progress = .underWay(last: last, end: end)
    }

    /// The stored form.
    var bytes: [UInt8] {
        var output = ByteBuffer(capacity: 64)
        output.append(Self.formatVersion)
        output.append(progress == .done ? 1 : 0)
        output.append(little: milliseconds)
        output.append(little: recordCount)
        var bytes = unsafe Array(output.bytes)
        if case .underWay(let last, let end) = progress {
            bytes += end.bytes + (last?.bytes ?? [])
        }
        return bytes
    }
}

extension MetaName {
    /// The state of a data migration.
    static func dataMigration(_ name: String) -> String { dataMigrationPrefix + name }
    static let dataMigrationPrefix = "migration."
}

extension MetaReader {
    /// The state of a data migration; nil if it was never begun.
    ///
    /// - Throws: `damaged` for other bytes; `newerFormat` for those of a later version.
    func dataMigration(_ name: String) throws -> DataMigrationState? {
        try value(MetaName.dataMigration(name)).map { try Self.state($0, name) }
    }

    /// The states of all data migrations, by their names.
    func dataMigrations() throws -> [(name: String, state: DataMigrationState)] {
        var states: [(name: String, state: DataMigrationState)] = []
        try visit(MetaName.dataMigrationPrefix) { name, bytes in
            states.append((name, try Self.state(bytes, name)))
            return true
        }
        return states
    }

    private static func state(_ bytes: [UInt8], _ name: String) throws -> DataMigrationState {
        if let state = DataMigrationState(bytes) { return state }
        let isNewer = (bytes.first ?? 0) > DataMigrationState.formatVersion
        throw StoreError(
            isNewer ? .newerFormat : .damaged,
            "How far the data migration '\(name)' came can't be read. "
                + (isNewer
                    ? "A newer program wrote it: use that one."
                    : "Run 'backstitch doctor' on the store."))
    }
}
