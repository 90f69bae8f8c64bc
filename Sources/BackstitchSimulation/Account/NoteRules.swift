import BackstitchCore
import BackstitchStore
import BackstitchSync

/// Checks the notes about single records in `meta` against the rows and the log: each has a reason, and
/// goes with it.
///
/// | note | its reason |
/// |---|---|
/// | `seen` | a full fetch is under way |
/// | `missed` | the service has another version than is known here, so that no push went well since |
/// | `unheard` | the service does not have the record, as far as is known |
/// | `sent` | the record waits to be created, or was deleted and made anew and waits |
/// | `duplicate` | a pull is to come, at whose end records with one value become one |
/// | `incomplete`, `undelivered` | is the service's alone; they can be read |
struct NoteRules {
    private let reader: TableReader
    private let entries: [StoredRecordID: RecordAccount]
    /// The slot of the zone whose notes are looked at.
    private let slot: UInt8 = 0

    init(_ reader: TableReader, _ account: LogAccount) {
        (self.reader, entries) = (reader, account.entries)
    }

    /// The notes that have no reason, in words.
    func problems() throws -> [String] {
        var problems: [String] = []
        func check(
            _ kind: SyncNotes, _ rule: (RecordKey, [UInt8]) throws -> String?
        ) throws {
            try reader.meta.visitNotes(kind, in: slot) { key, value in
                if let problem = try rule(key, value) {
                    problems.append("the note \(kind.name(key)) \(problem)")
                }
                return true
            }
        }
        let states = try ZoneStates(reader).names().map { try reader.zoneState($0) }
        let isFetching = states.contains { $0.isFullFetch }
        let isPulling = states.contains { $0.needsPull }
        try check(.seen) { _, _ in isFetching ? nil : "is left of a full fetch" }
        try check(.missed) { key, value in
            if ![0, 8, 9].contains(value.count) { return "can't be read" }
            return isConfirmed(key) ? "is older than a push" : nil
        }
        try check(.unheard) { key, value in
            guard value.count == 10 else { return "can't be read" }
            let entity = EntityNumber(value.bigEndian(UInt16.self))
            let row = try reader.row(entity, key)
            return row?.hasChangeTag == true ? "is of a record that the service has" : nil
        }
        try check(.sent) { key, value in
            if !value.isEmpty { return "can't be read" }
            let isWaiting = reader.catalog.tables.contains { table in
                let entry = entries[StoredRecordID(entity: table.number, key: key)]
                return entry?.isToBeMade == true
            }
            return isWaiting ? nil : "is of a record that does not wait to be made"
        }
        try check(.duplicate) { _, value in
            let other = RecordName(String(decoding: value, as: UTF8.self))
            if !value.isEmpty, other.violation != nil { return "can't be read" }
            return isPulling ? nil : "is left though no pull is to come"
        }
        try check(.incomplete) { _, value in value.count > 6 ? nil : "can't be read" }
        try check(.undelivered) { _, value in value.count == 10 ? nil : "can't be read" }
        return problems
    }

    /// The notes that are left though a device has nothing more to exchange, in words.
    ///
    /// No record waits then, so that each missed version was looked up, or its end came with the feed.
    /// - Parameter mayGoBack: Whether the service was put back to an older state, or answers from old ones: then
    ///   a missed version may be one that it does not have any more, and is looked up without end.
    func leftovers(mayGoBack: Bool) throws -> [String] {
        var names: [String] = []
        var kinds: [SyncNotes] = [.seen, .undelivered, .sent, .duplicate]
        if !mayGoBack { kinds.append(.missed) }
        for kind in kinds {
            try reader.meta.visitNotes(kind, in: slot) { key, _ in
                names.append(kind.name(key))
                return true
            }
        }
        return names
    }

    private func isConfirmed(_ key: RecordKey) -> Bool {
        reader.catalog.tables.contains { table in
            entries[StoredRecordID(entity: table.number, key: key)]?.isConfirmed == true
        }
    }
}
