import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

/// What an engine, or its store beside it, can be asked for.
enum EngineCall: CaseIterable, Sendable {
    case start, sync, cancelledSync, catchUp, cancelledCatchUp, waitForOperation, cancelledWait
    case resyncFromService, resyncFromHere, resetLocal, resetRemote, destroyZone
    case evictAndFetchAgain, downloadFiles, notification, offline, online, accountChanged
    case retryParked, discardParked, revert, undoConflict, compact
    case counts, lists, bindings, events, stop

    /// Those that may meet another device: the others end the zone, with what was not pulled here.
    static let besideOthers = allCases.filter { $0 != .resetRemote && $0 != .destroyZone }
    /// Those that lose nothing when zones end, because everything is on this device at any time.
    static let alone = allCases.filter { $0 != .resetLocal && $0 != .evictAndFetchAgain }
}

/// Everything that an engine can be asked for, from several tasks at once, while engines are replaced,
/// the network goes and comes, the service fails, and the application, another handle of the same
/// files and another device write.
///
/// Each task ends after a count of calls, and one runs rounds until the last has ended: a call that is
/// never answered would hang. `MACHINE_ROUNDS` makes more rounds.
@Suite(.budgeted(places: 2)) struct EngineCrowdTests {
    private static let rounds = Load.count("MACHINE_ROUNDS", else: 2)

    @Test func `every call is answered, and nothing is lost`() async throws {
        for round in 0..<Self.rounds {
            let crowd = try Crowd(round)
            try await crowd.run()
        }
    }
}

/// One round of the crowd.
private final class Crowd: Sendable {
    private static let callers = 5
    private static let writes = 24
    private static let replacements = 8
    private static let turnsMax = 60

    private let number: Int
    private let isAlone: Bool
    private let path: String
    private let cloud: SimulatedCloud
    private let ledger = TokenLedger()
    private let store: Store
    /// The same files, as another process has them.
    private let other: Store
    private let laptop: Device
    private let service: SimulatedRecordService
    /// All engines that there were; the last one is asked.
    private let engines: Locked<[SyncEngine]>
    private let generator: Locked<SeededGenerator>

    init(_ number: Int) throws {
        self.number = number
        isAlone = number % 2 == 1
        path = FileManager.default.temporaryDirectory.path + "/crowd-" + UUID().uuidString
        let schema = StoreSchema(Sheet.self)
        let configuration = StoreConfiguration(durability: .relaxed)
        store = try Store(at: path, schema: schema, configuration: configuration)
        other = try Store(at: path, schema: schema, configuration: configuration)
        let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 9))
        laptop = try Device(cloud, "laptop", schema: schema) {
            $0.conflictPolicy = .merge(otherwise: .serverWins)
        }
        let service = cloud.connection(device: "phone")
        service.faultPlan = FaultPlan(
            seed: UInt64(number),
            probabilities: [
                .lostRequest: 0.03, .lostReply: 0.04, .errorServiceUnavailable: 0.02,
                .rateLimitedRetryAfter: 0.02, .partialFailure: 0.04, .recordInvalidRequest: 0.03,
                .conflictWithoutServerRecord: 0.1, .tokenExpiry: 0.03, .emptyPages: 0.04,
                .smallPages: 0.1,
            ])
        self.cloud = cloud
        self.service = service
        generator = Locked(SeededGenerator(seed: UInt64(number)))
        engines = Locked([])
    }

    private func roll(_ count: Int) -> Int {
        generator.withLock { Int($0.next() % UInt64(count)) }
    }

    private func pause() async {
        for _ in 0..<roll(200) { await Task.yield() }
    }

    // MARK: Engines

    private func newEngine() -> SyncEngine {
        SyncEngine(
            store: store,
            service: LateService(service, seed: generator.withLock { $0.next() }),
            configuration: SyncConfiguration(
                zoneName: scenarioZone.zoneName,
                conflictPolicy: .merge(otherwise: .serverWins), debounce: .zero,
                standbyRetry: .milliseconds(1)))
    }

    /// The engine that is asked.
    private var current: SyncEngine {
        engines.withLock { engines in
            guard let last = engines.last else { preconditionFailure("The first one is made.") }
            return last
        }
    }

    private func replaceEngine() async throws {
        let next = newEngine()
        let manner = roll(3)
        // It may ask for its turn while the other one goes on.
        if manner == 0 { try await refusable { try await next.sync() } }
        if manner == 1 { await current.stop() }
        let before = engines.withLock { engines -> [SyncEngine] in
            defer { engines.append(next) }
            return engines
        }
        for engine in before { await engine.stop() }
        if roll(2) == 0 { try await refusable { try await next.start() } }
    }

    /// Asks for something that may be refused for what goes on elsewhere.
    private func refusable(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SyncError {
            let isWrong = error.code == .store || error.code == .invalidConfiguration
            #expect(!isWrong, "round \(number): \(error)")
        } catch let error as StoreError {
            // A record that is not as it was when it was chosen.
            let isExpected = [.unsynced, .busy, .notFound].contains(error.code)
            #expect(isExpected, "round \(number): \(error)")
        } catch is CancellationError {
            // It was cancelled here.
            return
        }
    }

    private func cancelled(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { try await body() }
        await pause()
        task.cancel()
        try await task.value
    }

    // MARK: What goes on at once

    func run() async throws {
        defer {
            other.close()
            store.close()
            try? FileManager.default.removeItem(atPath: path)
        }
        let first = newEngine()
        engines.withLock { $0 = [first] }
        var tasks: [@Sendable () async throws -> Void] = [
            { try await self.write(to: self.store, as: "a") },
            { try await self.write(to: self.other, as: "b") },
            { for _ in 0..<Self.replacements { try await self.replaceLater() } },
        ]
        for _ in 0..<Self.callers { tasks.append { try await self.callEverything() } }
        if !isAlone { tasks.append { try await self.writeOnLaptop() } }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in tasks {
                group.addTask {
                    try await task()
                    return true
                }
            }
            group.addTask {
                try await self.runRounds()
                return false
            }
            var left = tasks.count
            while left > 0, let isTask = try await group.next() { left -= isTask ? 1 : 0 }
            group.cancelAll()
        }
        try await settle()
    }

    private func replaceLater() async throws {
        await pause()
        try await replaceEngine()
    }

    /// Rounds, without which some calls would wait for ever, until it is cancelled.
    private func runRounds() async throws {
        while !Task.isCancelled {
            let engine = current
            await engine.connectivityChanged(isReachable: true)
            try await refusable { _ = try await engine.resume(after: .reupload) }
            try await refusable { try await engine.sync() }
            await Task.yield()
        }
    }

    private func write(to store: Store, as writer: String) async throws {
        for number in 0..<Self.writes {
            let (title, token) = (ledger.token(), ledger.token())
            let isNew = roll(3) == 0
            let name = isNew ? "n\(writer)\(number)" : "s\(roll(8))"
            let changesBody = roll(2) == 0
            try await ledger.write(to: store) { transaction in
                let id = Sheet.ID(name)
                var sheet = try transaction.find(Sheet.self, id) ?? Sheet(id: id, title: title)
                if changesBody { sheet.body = token } else { sheet.title = token }
                _ = try transaction.save(sheet)
            }
            await pause()
        }
    }

    private func writeOnLaptop() async throws {
        try await write(to: laptop.store, as: "c")
        for part in 0..<4 {
            try await refusable { try await self.laptop.sync() }
            try await write(to: laptop.store, as: "d\(part)")
        }
    }

    /// All calls, in an order by chance.
    private func callEverything() async throws {
        var calls = isAlone ? EngineCall.alone : EngineCall.besideOthers
        for last in calls.indices.reversed() { calls.swapAt(last, roll(last + 1)) }
        for call in calls {
            let engine = current
            try await refusable { try await self.ask(call, of: engine) }
            await Task.yield()
        }
    }

    private func ask(_ call: EngineCall, of engine: SyncEngine) async throws {
        switch call {
        case .start: try await engine.start()
        case .sync: try await engine.sync()
        case .cancelledSync: try await cancelled { try await engine.sync() }
        case .catchUp: try await engine.waitUntilCaughtUp()
        case .cancelledCatchUp: try await cancelled { try await engine.waitUntilCaughtUp() }
        case .waitForOperation: try await waitForLastOperation(engine)
        case .cancelledWait: try await cancelled { try await self.waitForLastOperation(engine) }
        case .resyncFromService: try await engine.resync(from: .server)
        case .resyncFromHere: try await engine.resync(from: .local)
        case .resetLocal: try await engine.resetLocal()
        case .resetRemote: try await engine.resetRemote()
        case .destroyZone:
            try await engine.destroyZone()
            _ = try await engine.resume(after: .reupload)
        case .evictAndFetchAgain: try await evictAndFetchAgain(engine)
        case .downloadFiles: try await engine.downloadFiles()
        case .notification:
            let text = #"{"ck":{"fet":{"zid":"\#(scenarioZone.zoneName)"}}}"#
            let notification = try #require(SyncNotification(json: Data(text.utf8)))
            #expect(await engine.handle(notification: notification))
        case .offline: await engine.connectivityChanged(isReachable: false)
        case .online: await engine.connectivityChanged(isReachable: true)
        case .accountChanged: await engine.accountChanged()
        case .retryParked: try await engine.retryParked()
        case .discardParked: try await engine.discardParked(engine.parked())
        case .revert:
            let id = Sheet.ID("s\(roll(8))")
            try await ledger.write(to: store) { _ = try $0.revert(id) }
        case .undoConflict:
            guard let sequence = try engine.conflicts(limit: 1).first?.sequence else { return }
            try await ledger.write(to: store) { _ = try $0.undoConflict(sequence) }
        case .compact: try await store.compact(.keepUnsyncedOnly)
        case .counts: #expect(try engine.pending().pendingRecords >= 0)
        case .lists:
            #expect(try engine.pendingRecords(limit: 5).count <= 5)
            #expect(try engine.parked().allSatisfy { $0.record.entity == "Sheet" })
        case .bindings:
            let (user, zone) = (try engine.boundUser(), try engine.boundZone())
            #expect(user == nil || user == "user")
            #expect(zone == nil || zone == scenarioZone.zoneName)
        case .events:
            let events = engine.events
            await pause()
            withExtendedLifetime(events) {}
        case .stop:
            await engine.stop()
            try await replaceEngine()
        }
    }

    private func waitForLastOperation(_ engine: SyncEngine) async throws {
        let last = try store.read { try $0.lastSequence }
        if last > 0 { _ = try await engine.waitUntilSynced(operation: last) }
    }

    /// Takes a record that nobody edits off this device.
    private func evictAndFetchAgain(_ engine: SyncEngine) async throws {
        let names = try store.sheets().keys.filter { $0.hasPrefix("n") }.sorted()
        guard !names.isEmpty else { return }
        let id = Sheet.ID(names[roll(names.count)])
        try await store.write { _ = try $0.evict(id) }
        try await engine.fetchAgain([id])
    }

    // MARK: The end

    /// Exchanges without faults until nothing changes, and compares everything.
    private func settle() async throws {
        service.endFaults()
        for engine in engines.withLock({ $0 }) {
            await engine.stop()
            await engine.untilEnded()
        }
        let last = newEngine()
        _ = try await last.resume(after: .reupload)
        var (turns, quiet) = (0, 0)
        while quiet < 2, turns < Self.turnsMax {
            let before = try heads()
            try await last.retryParked()
            try await last.sync()
            let names = cloud.records(in: scenarioZone).map(\.recordName)
            try await last.fetchAgain(names.map { Sheet.ID($0) })
            if !isAlone { try await laptop.sync() }
            turns += 1
            quiet = try heads() == before ? quiet + 1 : 0
        }
        #expect(quiet == 2, "round \(number) has no end")
        try await compare(last)
        await last.stop()
        await last.untilEnded()
        // Another process has its turn.
        #expect(try SyncLease.take(of: other) != nil, "round \(number)")
    }

    private func heads() throws -> [UInt64] {
        try [store, laptop.store].map { store in try store.read { try $0.lastSequence } }
    }

    private func compare(_ last: SyncEngine) async throws {
        let records = Dictionary(
            uniqueKeysWithValues: cloud.records(in: scenarioZone).map {
                record -> (String, [String: String]) in
                (record.recordName, record.fields.texts)
            })
        let fresh = try Device(cloud, "fresh", schema: StoreSchema(Sheet.self))
        try await fresh.sync()
        let same: Comment = "round \(number)"
        #expect(try store.sheets() == records, same)
        #expect(try other.sheets() == records, same)
        #expect(try fresh.store.sheets() == records, same)
        if !isAlone { #expect(try laptop.store.sheets() == records, same) }
        #expect(try last.pending().pendingRecords == 0, same)
        #expect(try last.parked() == [], same)
        #expect(last.status == .idle, same)
        #expect(try store.verify().problems == [], same)
        let state = try store.read { try $0.reader.zoneState(scenarioZone.zoneName) }
        #expect(!state.isFullFetch && state.suspension == nil && state.retry == nil, same)
        #expect(state.resetsRemote != true && state.prefersLocal != true, same)
        let journals = try last.conflicts() + laptop.engine.conflicts()
        #expect(ledger.lost(present: records, journals: journals) == [], same)
        #expect(ledger.savedCount >= 2 * Self.writes, same)
    }
}
