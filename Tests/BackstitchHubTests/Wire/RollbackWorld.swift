import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading

@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Hands requests to the hub that serves at the moment.
final class SwitchedClient: HTTPClient {
    private let client: Locked<DirectClient>

    init(_ hub: Hub) { client = Locked(DirectClient(hub)) }

    /// Has another hub serve from now on.
    func serve(_ hub: Hub) { client.withLock { $0 = DirectClient(hub) } }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let client = client.withLock { $0 }
        return try await client.send(request)
    }
}

/// Devices, each of which edits notes of its own, and a hub whose data is put back to older states, while
/// others write before and after: all from a seed.
///
/// No two devices edit the same note and none deletes one, so that every note has to be everywhere at the
/// end, as it was saved last.
final class RollbackWorld {
    private static let zone = ZoneID("Wire")
    private static let settlingRoundsMax = 30

    private var generator: SeededGenerator
    private let fixture: HubFixture
    private let switched: SwitchedClient
    private let clock = ManualClock()
    private let data: any RollbackData
    /// The hub that serves the data.
    private var hub: Hub
    private var devices: [WireDevice] = []
    private let notesPerDevice: UInt64
    /// The number that each note was saved with last.
    private var saved: [String: Int] = [:]
    /// How often the hub's data was put back.
    private(set) var rollbacks = 0

    init(seed: UInt64, over data: any RollbackData) async throws {
        (generator, self.data) = (SeededGenerator(seed: seed), data)
        var limits = HubLimits()
        limits.operationsPerRequest = [200, 3][Int(generator.next() % 2)]
        limits.recordsPerPage = [200, 2][Int(generator.next() % 2)]
        limits.recordsPerLargePage = max(limits.recordsPerPage, 5)
        fixture = try await HubFixture(limits: limits, seed: seed, storage: data.storage())
        (hub, switched) = (fixture.hub, SwitchedClient(fixture.hub))
        let chance = [0, 0.2][Int(generator.next() % 2)]
        notesPerDevice = [1, 4][Int(generator.next() % 2)]
        for index in 0..<3 {
            devices.append(try makeDevice("device \(index)", chance: chance))
        }
    }

    deinit {
        for device in devices { device.store.close() }
        hub.close()
    }

    private func makeDevice(_ name: String, chance: Double) throws -> WireDevice {
        let client = FaultyClient(
            switched, clock: clock, seed: generator.next(), chance: chance, speech: .current
        ) { _ in }
        let store = try Store.inMemory(schema: StoreSchema(WireNote.self, WireFolder.self))
        let engine = SyncEngine(
            store: store,
            service: try CloudKitRecordService(fixture.configuration(), client: client),
            configuration: SyncConfiguration(
                zoneName: Self.zone.zoneName, conflictPolicy: .serverWins, syncOnSave: false,
                clock: clock))
        return WireDevice(name: name, store: store, engine: engine, client: client)
    }

    func run(steps: Int) async throws {
        try await data.copy()
        for _ in 0..<steps {
            let index = Int(generator.next() % UInt64(devices.count))
            switch generator.next() % 12 {
            case 0...4: try edit(index)
            case 5...8: _ = try await devices[index].exchange(fixture, clock)
            case 9: try await data.copy()
            case 10: try await rollBack()
            default: await devices[index].client.deliverLate()
            }
        }
        for device in devices {
            device.client.endFaults()
            await device.client.deliverLate()
        }
        devices.append(try makeDevice("a new device", chance: 0))
        try await settle()
        for device in devices { try check(device) }
    }

    /// Saves a note of a device once more. Few notes with many versions let devices miss some of these.
    private func edit(_ index: Int) throws {
        let name = "note \(index) \(generator.next() % notesPerDevice)"
        let number = saved[name, default: 0] + 1
        try devices[index].store.write { transaction in
            try transaction.save(
                WireNote(id: WireNote.ID(name), title: "\(number)", count: number, marks: []))
        }
        saved[name] = number
    }

    /// Puts the data back to some moment before. Then another hub serves them, or the same one goes on.
    private func rollBack() async throws {
        let copy = Int(generator.next() % UInt64(data.copyCount))
        let goesOn = data.hubsGoOn && generator.next() % 2 == 0
        if !goesOn { hub.close() }
        try data.putBack(to: copy)
        rollbacks += 1
        guard !goesOn else { return }
        hub = try await fixture.makeHub(over: data.storage())
        switched.serve(hub)
    }

    private func settle() async throws {
        for _ in 0..<Self.settlingRoundsMax {
            var isChanged = false
            for device in devices {
                isChanged = try await device.exchange(fixture, clock) || isChanged
            }
            if !isChanged { return }
        }
        throw WireFailure(description: "The devices don't settle.")
    }

    private func check(_ device: WireDevice) throws {
        for (name, number) in saved {
            let note = try device.store.read { try $0.find(WireNote.self, WireNote.ID(name)) }
            guard note?.count == number else {
                throw WireFailure(
                    description: "\(device.name) has '\(name)' as \(note?.title ?? "nothing"), "
                        + "which was saved as \(number).")
            }
        }
    }
}
