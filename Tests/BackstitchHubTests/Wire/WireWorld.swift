import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchSimulation
import BackstitchTesting
import Foundation

@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Entity struct WireFolder {
    var id = ID()
    var name: String
    @Relationship(inverse: \WireNote.folder) var notes: ToMany<WireNote>
}

@Entity struct WireNote {
    var id = ID()
    var title: String
    var count: Int
    var weight: Double?
    var day: Date?
    var marks: [String]
    var bytes: Data?
    var folder: WireFolder.ID?
}

/// Devices, a hub, and ways between them on which things go wrong: all from a seed.
final class WireWorld {
    private static let zone = ZoneID("Wire")
    private static let settlingRoundsMax = 30
    private static let policies: [ConflictPolicy] = [
        .serverWins, .clientWins, .merge(otherwise: .serverWins),
    ]

    private var generator: SeededGenerator
    private let fixture: HubFixture
    private var otherHub: Hub?
    private let book: VersionBook
    private let clock = ManualClock()
    private let policy: ConflictPolicy
    private var devices: [WireDevice] = []

    /// - Parameter engine: Of which two hubs share one if they can, and devices speak with the one or the other.
    init(seed: UInt64, _ engine: StorageEngine = .chosen) async throws {
        generator = SeededGenerator(seed: seed)
        var limits = HubLimits()
        limits.operationsPerRequest = [200, 3, 1][Int(generator.next() % 3)]
        limits.recordsPerPage = [200, 2, 1][Int(generator.next() % 3)]
        limits.recordsPerLargePage = max(limits.recordsPerPage, 5)
        policy = Self.policies[Int(generator.next() % UInt64(Self.policies.count))]
        let chance = [0.1, 0.3, 0.6][Int(generator.next() % 3)]
        let count = 2 + Int(generator.next() % 2)
        if StorageEngine.shareable.contains(engine) {
            let (storage, other, _) = try engine.pair()
            fixture = try await HubFixture(limits: limits, seed: seed, storage: storage)
            otherHub = try await fixture.makeHub(over: other)
        } else {
            fixture = try await HubFixture(limits: limits, seed: seed, storage: engine.storage())
        }
        let clients = ([fixture.hub] + (otherHub.map { [$0] } ?? [])).map { DirectClient($0) }
        book = VersionBook(
            try CloudKitRecordService(fixture.configuration(), client: clients[0]), zone: Self.zone)
        for index in 0..<count {
            let name = "device \(index)"
            let book = book
            // Devices that are updated one after the other speak with one hub.
            let speeches = WireSpeech.allCases
            let speech = speeches[Int(generator.next() % UInt64(speeches.count))]
            let client = FaultyClient(
                clients[index % clients.count], clock: clock, seed: generator.next(),
                chance: chance, speech: speech
            ) { request in
                guard request.url.contains("/records/modify") else { return }
                // What can't be seen is found missing at the end.
                try? await book.look(after: name)
            }
            let store = try Store.inMemory(schema: StoreSchema(WireNote.self, WireFolder.self))
            let engine = SyncEngine(
                store: store,
                service: try CloudKitRecordService(fixture.configuration(), client: client),
                configuration: SyncConfiguration(
                    zoneName: Self.zone.zoneName, conflictPolicy: policy, syncOnSave: false,
                    clock: clock))
            devices.append(WireDevice(name: name, store: store, engine: engine, client: client))
        }
    }

    deinit {
        for device in devices { device.store.close() }
        otherHub?.close()
    }

    /// How often each fault happened.
    var injected: [WireFault: Int] {
        devices.reduce(into: [:]) { $0.merge($1.client.injected, uniquingKeysWith: +) }
    }

    func run(steps: Int) async throws {
        for _ in 0..<steps {
            let device = devices[Int(generator.next() % UInt64(devices.count))]
            switch generator.next() % 8 {
            case 0...3: try edit(device)
            case 4...6: _ = try await device.exchange(fixture, clock)
            default: await device.client.deliverLate()
            }
        }
        for device in devices {
            device.client.endFaults()
            await device.client.deliverLate()
        }
        try await settle()
        try await check()
    }

    // MARK: Steps

    private func edit(_ device: WireDevice) throws {
        let seed = generator.next()
        try device.store.write { transaction in
            var generator = SeededGenerator(seed: seed)
            for _ in 0...(generator.next() % 3) {
                let folder = WireFolder.ID("folder \(generator.next() % 2)")
                let id = WireNote.ID("note \(generator.next() % 5)")
                if generator.next() % 5 == 0 {
                    try transaction.delete(id)
                    continue
                }
                if try transaction.find(WireFolder.self, folder) == nil {
                    try transaction.save(WireFolder(id: folder, name: "F\(generator.next() % 9)"))
                }
                var note =
                    try transaction.find(WireNote.self, id)
                    ?? WireNote(id: id, title: "new", count: 0, marks: [])
                Self.change(&note, folder, &generator)
                try transaction.save(note)
            }
        }
    }

    private static func change(
        _ note: inout WireNote, _ folder: WireFolder.ID, _ generator: inout SeededGenerator
    ) {
        let number = Int(generator.next() % 1_000)
        let isNull = generator.next() % 4 == 0
        switch generator.next() % 7 {
        case 0: note.title = "title “\(number)” \u{0}\u{1F9F5}"
        case 1: note.count = number % 2 == 0 ? Int.max - number : -number
        case 2: note.weight = isNull ? nil : Double(number) / 7
        case 3: note.day = isNull ? nil : Date(timeIntervalSince1970: Double(number) * 86_400.5)
        case 4: note.marks = (0..<number % 3).map { "mark \($0) \(number)" }
        case 5: note.bytes = isNull ? nil : Data([0, 255, UInt8(number % 256)])
        default: note.folder = isNull ? nil : folder
        }
    }

    private func settle() async throws {
        for _ in 0..<Self.settlingRoundsMax {
            var isChanged = false
            for device in devices {
                isChanged = try await device.exchange(fixture, clock) || isChanged
                let parked = try device.engine.parked()
                if !parked.isEmpty {
                    try await device.engine.retryParked(parked)
                    isChanged = true
                }
            }
            if !isChanged { return }
        }
        throw WireFailure(description: "The devices don't settle.")
    }

    // MARK: Checks

    private func check() async throws {
        try await book.look(after: "nobody")
        let records = book.records
        for device in devices {
            let verified = try device.store.verify()
            guard verified.isConsistent else {
                throw WireFailure(description: "\(device.name): \(verified.problems)")
            }
            let account = try account(of: device)
            guard account.problems.isEmpty else {
                throw WireFailure(
                    description: "\(device.name): \(account.problems.joined(separator: "\n"))")
            }
            guard account.dirty.isEmpty else {
                throw WireFailure(
                    description: "\(device.name) waits: \(account.dirty.map(\.recordName))")
            }
            try compare(account, device, records)
        }
        let wrong = try fixture.wrongSpace()
        guard wrong.isEmpty else { throw WireFailure(description: "The hub: \(wrong)") }
    }

    private func account(of device: WireDevice) throws -> LogAccount {
        var expectation = LogAccount.Expectation()
        expectation.policy = policy
        expectation.mayErase = false
        expectation.mayRevert = false
        let (book, name) = (book, device.name)
        expectation.isOwn = { book.writer($0) == name }
        return try device.store.read { transaction in
            try LogAccount(transaction.reader, mayGoBack: false, expectation: expectation) {
                book.version($0)
            }
        }
    }

    private func compare(
        _ account: LogAccount, _ device: WireDevice, _ records: [String: ServiceRecord]
    ) throws {
        let catalog = device.store.catalogSnapshot
        var missing = records
        for entry in account.records {
            guard let record = missing.removeValue(forKey: entry.recordName),
                let table = catalog.table(entry.entity), let fields = entry.fields
            else {
                throw WireFailure(
                    description: "\(device.name) has \(entry.recordName), the hub has not.")
            }
            let difference = WireForm.difference(
                WireForm.fields(fields, table), WireForm.fields(record, table))
            guard difference == nil, record.changeTag == entry.changeTag else {
                throw WireFailure(
                    description: "\(device.name), \(entry.recordName): "
                        + (difference ?? "it has the tag \(entry.changeTag)"))
            }
        }
        guard missing.isEmpty else {
            throw WireFailure(description: "\(device.name) lacks \(missing.keys.sorted()).")
        }
    }
}
