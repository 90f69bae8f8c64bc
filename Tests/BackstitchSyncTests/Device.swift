import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Testing

/// A note: nothing refers to it and it refers to nothing.
@Entity("Note") struct Note: Equatable {
    var id = ID()
    var title: String
    var body: String?
}

/// A list of tasks, which refuse to lose it.
@Entity("TaskList") struct TaskList: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .deny) var parent: TaskList.ID?
}

/// A task that the service deletes with its list only after itself.
@Entity("Chore") struct Chore: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .deny) var list: TaskList.ID?
}

/// A task that goes with its list.
@Entity("Step") struct Step: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .cascade) var list: TaskList.ID?
}

let scenarioSchema = StoreSchema(Note.self, TaskList.self, Chore.self, Step.self)
let scenarioZone = ZoneID("notes")

/// A store with an engine and a connection.
struct Device: Sendable {
    let store: Store
    let service: SimulatedRecordService
    let engine: SyncEngine

    init(
        _ cloud: SimulatedCloud, _ name: String = "phone",
        schema: StoreSchema = scenarioSchema, store: Store? = nil,
        configure: (inout SyncConfiguration) -> Void = { _ in }
    ) throws {
        let store = try store ?? Store.inMemory(schema: schema)
        self.init(
            store: store, service: cloud.connection(device: name), configure: configure)
    }

    init(
        store: Store, service: SimulatedRecordService,
        configure: (inout SyncConfiguration) -> Void = { _ in }
    ) {
        self.store = store
        self.service = service
        var configuration = SyncConfiguration(
            zoneName: scenarioZone.zoneName, syncOnSave: false, clock: ManualClock())
        configure(&configuration)
        engine = SyncEngine(store: store, service: service, configuration: configuration)
    }

    /// The device after a restart of its engine.
    func restarted(
        configure: (inout SyncConfiguration) -> Void = { _ in }
    ) async -> Device {
        await engine.stop()
        let old = engine.configuration
        return Device(store: store, service: service) { configuration in
            configuration = old
            configure(&configuration)
        }
    }

    @discardableResult
    func sync() async throws -> SyncReport { try await engine.sync() }

    func save<Model: Entity>(_ model: Model) async throws {
        try await store.write { _ = try $0.save(model) }
    }

    func delete<Model: Entity>(_ id: EntityID<Model>) async throws {
        try await store.write { _ = try $0.delete(id) }
    }

    func find<Model: Entity>(_ id: EntityID<Model>) throws -> Model? {
        try store.read { try $0.find(Model.self, id) }
    }

    func all<Model: Entity>(_ type: Model.Type) throws -> [Model] {
        try store.read { try $0.fetch(type) }
    }

    /// Saves notes by name with a title.
    func note(_ name: String, _ title: String, body: String? = nil) async throws {
        try await save(Note(id: Note.ID(name), title: title, body: body))
    }

    /// The titles of all notes of the store's own zone by name.
    func titles() throws -> [String: String] { try titles(slot: 0) }

    /// The titles of the notes of a zone by name.
    func titles(slot: UInt8) throws -> [String: String] {
        let notes = try all(Note.self).filter { $0.id.key.zone == slot }
        return Dictionary(
            uniqueKeysWithValues: notes.map { ($0.id.key.name.description, $0.title) })
    }

    /// Checks what must hold at any time, and that nothing is left to push.
    func expectSettled(_ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try engine.pending().pendingRecords == 0, sourceLocation: location)
        #expect(try store.verify().problems == [], sourceLocation: location)
        #expect(try await store.rebuild().isIdentical, sourceLocation: location)
    }
}

extension Device {
    /// A device whose notes `a` and `b` are on the service.
    static func withNotes(_ cloud: SimulatedCloud) async throws -> Device {
        let phone = try Device(cloud)
        for name in ["a", "b"] { try await phone.note(name, "one") }
        try await phone.sync()
        return phone
    }

    /// A device whose note `a`, with `base` in its fields, is on the service.
    static func withBase(
        _ cloud: SimulatedCloud, configure: (inout SyncConfiguration) -> Void
    ) async throws -> Device {
        let phone = try Device(cloud, configure: configure)
        try await phone.note("a", "base", body: "base")
        try await phone.sync()
        return phone
    }

    /// Checks that it is settled, and that a new device gets the same notes.
    func expectEqualToFresh(_ cloud: SimulatedCloud) async throws {
        try await expectSettled()
        let fresh = try Device(cloud, "fresh")
        try await fresh.sync()
        #expect(try fresh.all(Note.self) == all(Note.self))
    }
}

extension SimulatedCloud {
    /// What another device does to the note `a`.
    func editNote(_ fields: NamedFields) throws {
        try write("a", type: "Note", fields: fields, in: scenarioZone)
    }
}

/// The records of the zone in short: `type name {field: value}`.
func remote(_ cloud: SimulatedCloud, in zone: ZoneID = scenarioZone) -> [String] {
    cloud.records(in: zone).map { record in
        let fields = record.fields.sorted { $0.key < $1.key }.map { name, value in
            "\(name): \(short(value))"
        }
        return "\(record.recordType) \(record.recordName) {\(fields.joined(separator: ", "))}"
    }
}

/// The names of the records with a note that they were sent.
func noted(_ store: Store) throws -> [String] {
    try store.read { transaction in
        var names: [String] = []
        try transaction.reader.meta.visitNotes(.sent, in: 0) { key, _ in
            names.append(key.name.description)
            return true
        }
        return names
    }
}

private func short(_ value: ServiceValue) -> String {
    switch value {
    case .null: "null"
    case .string(let text): text
    case .int64(let number): "\(number)"
    case .double(let number): "\(number)"
    case .timestamp(let milliseconds): "\(milliseconds)ms"
    case .reference(let reference): "->\(reference.recordName)"
    case .unknown(let value): "\(value.typeName)(\(value.json))"
    case .bytes, .asset, .location, .list: "\(value)"
    }
}

/// Whether an error is the engine's with a code.
func syncError(_ body: () async throws -> Void) async -> SyncError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? SyncError
    }
}
