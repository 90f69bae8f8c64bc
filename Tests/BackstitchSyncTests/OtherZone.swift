import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchSync
import Testing

extension Device {
    /// The slot of a zone beside the store's own.
    static let list: UInt8 = 2

    /// Gives the store the zone with the slot ``list``, unless it has it.
    func addZone() async throws {
        let slot = try await store.withLogWriter {
            $0.catalogChanges.addZone(named: "list", in: .private)
        }
        #expect(slot == Self.list)
    }

    /// Saves a note of another zone, as an application would.
    func put(_ name: String, _ title: String, slot: UInt8 = Device.list) async throws {
        try await addZone()
        try await save(
            Note(id: Note.ID(key: RecordKey(RecordName(name), zone: slot)), title: title))
    }

    /// Merges a record of another zone as its service has it.
    @discardableResult
    func pull(
        _ name: String, _ type: String, _ fields: NamedFields, tag: String = "z1",
        at milliseconds: Int64 = 1, policy: ConflictPolicy = .serverWins,
        slot: UInt8 = Device.list
    ) async throws -> MergeResult {
        let record = ServiceRecord(
            recordName: name, recordType: type, changeTag: tag,
            modifiedMilliseconds: milliseconds, fields: fields)
        return try await store.withLogWriter { log in
            let settings = ConflictSettings(ConflictRules(policy))
            return try RecordMerger(log, policy: settings, zone: slot).merge(record)
        }
    }

    /// Merges a note of another zone as its service has it: it has nothing to push.
    func pulled(_ name: String, _ title: String, tag: String = "z1") async throws {
        try await pull(name, "Note", ["title": .string(title)], tag: tag)
    }
}
