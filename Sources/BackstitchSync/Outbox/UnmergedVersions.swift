package import BackstitchCore
package import BackstitchLog

/// A version of the service that was met and not taken over, because the record was parked.
///
/// As long as a record has something to push, the service answers with its version again. Once its edits are
/// given up, no answer would have that version: the feed was read past it. So it is looked up then.
package struct UnmergedVersion {
    package let key: RecordKey
    /// When the service saved it; nil if the record does not exist there.
    package let modifiedMilliseconds: Int64?
    /// Whether the record ended here because a lookup did not find it, and is looked up once more.
    package let isDoubted: Bool
}

/// The notes of missed versions of records of a zone: a time in 8 bytes unless the record does not exist, and
/// one more byte if its end is doubted.
package struct UnmergedVersions {
    private let reader: TableReader
    private let slot: UInt8
    private let areThere: Bool

    package init(_ reader: TableReader, in slot: UInt8) throws {
        self.reader = reader
        self.slot = slot
        areThere = try reader.meta.hasNotes(.missed, in: slot)
    }

    /// When the service saved a record's missed version; the end of time if none was missed.
    ///
    /// After a restore from a backup that version is older than the one known here. The service's
    /// answers are then as old as it, and no replica that lags behind gave them.
    func milliseconds(of key: RecordKey) throws -> Int64 {
        guard areThere, let time = try reader.meta.note(.missed, key) else { return .max }
        return Self.milliseconds(time) ?? .max
    }

    /// The missed versions of records that have nothing to push.
    package func settled(limit: Int) throws -> [UnmergedVersion] {
        var versions: [UnmergedVersion] = []
        guard limit > 0 else { return [] }
        try reader.meta.visitNotes(.missed, in: slot) { key, value in
            if try !Self.isDirty(key, reader) {
                versions.append(
                    UnmergedVersion(
                        key: key, modifiedMilliseconds: Self.milliseconds(value),
                        isDoubted: Self.isDoubted(value)))
            }
            return versions.count < limit
        }
        return versions
    }

    private static func isDirty(_ key: RecordKey, _ reader: TableReader) throws -> Bool {
        try reader.catalog.tables.contains { try reader.row($0.number, key)?.isDirty == true }
    }

    private static func milliseconds(_ value: [UInt8]) -> Int64? {
        value.count >= 8 ? value.bigEndian() : nil
    }

    private static func isDoubted(_ value: [UInt8]) -> Bool { value.count == 9 }

    /// Takes away the note of a record whose end the feed has told: what came after that end the feed
    /// tells as well, and a replica that lags behind could only answer with what was before.
    ///
    /// While a record is parked its note tells what to do once its edits are given up: then it does not exist
    /// on the service.
    static func forget(ended key: RecordKey, in log: LogWriter) throws {
        guard let value = try log.noted(.missed, key) else { return }
        if try isDoubted(value) || !isDirty(key, log.reader) {
            try log.forgetNote(.missed, key)
        } else if !value.isEmpty {
            try log.note(.missed, key)
        }
    }

    /// Notes that the service has another version of a record than the one that is known here.
    static func note(_ key: RecordKey, _ server: ServerState, in log: LogWriter) throws {
        if case .present(let version, _, _) = server {
            try log.noteUnmergedVersion(of: key, modifiedMilliseconds: version.modifiedMilliseconds)
        } else {
            try log.note(.missed, key)
        }
    }
}
