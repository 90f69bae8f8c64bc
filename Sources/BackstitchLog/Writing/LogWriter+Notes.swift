package import BackstitchCore
import LMDB

/// The notes of a kind about records of a zone.
struct ZoneNotes: Hashable {
    let kind: SyncNotes
    let slot: UInt8
}

extension LogWriter {
    /// Writes a record's note.
    package func note(_ kind: SyncNotes, _ record: RecordKey, _ value: [UInt8] = []) throws {
        try setMeta(kind.name(record), value)
        haveNotes[ZoneNotes(kind: kind, slot: record.zone)] = true
    }

    /// A record's note; nil if it has none. Costs nothing if no record of its zone has one.
    package func noted(_ kind: SyncNotes, _ record: RecordKey) throws -> [UInt8]? {
        try mayHaveNotes(kind, in: record.zone) ? reader.meta.note(kind, record) : nil
    }

    /// Takes a record's note away, if there is one. Costs nothing if no record of its zone has one.
    package func forgetNote(_ kind: SyncNotes, _ record: RecordKey) throws {
        if try noted(kind, record) != nil { try deleteMeta(kind.name(record)) }
    }

    /// Takes all notes of a kind about records of a zone away.
    package func forgetNotes(_ kind: SyncNotes, in slot: UInt8) throws {
        try MetaChecksum.deleteValues(from: kind.prefix(in: slot), access, databases)
        haveNotes[ZoneNotes(kind: kind, slot: slot)] = false
    }

    /// Whether there may be notes of a kind about records of a zone; looked up once for each commit.
    package func mayHaveNotes(_ kind: SyncNotes, in slot: UInt8) throws -> Bool {
        let notes = ZoneNotes(kind: kind, slot: slot)
        if let known = haveNotes[notes] { return known }
        let isThere = try reader.meta.hasNotes(kind, in: slot)
        haveNotes[notes] = isThere
        return isThere
    }

    /// Notes that the service has a version of a record which was not taken over.
    ///
    /// - Parameter isDoubted: Whether the record ended here because a lookup did not find it.
    package func noteUnmergedVersion(
        of key: RecordKey, modifiedMilliseconds: Int64, isDoubted: Bool = false
    ) throws {
        try note(.missed, key, modifiedMilliseconds.bigEndianBytes + (isDoubted ? [1] : []))
    }
}
