import Backstitch
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// One process at a time synchronises a store.
@Suite(.budgeted) struct LeaseTests {
    @Entity("Leased") struct Leased {
        var id = ID()
        var name: String
    }

    let cloud = SimulatedCloud()

    static func schema() -> StoreSchema { StoreSchema(Leased.self) }

    private func engine(_ store: Store, _ device: String) -> SyncEngine {
        SyncEngine(
            store: store, service: cloud.connection(device: device),
            configuration: SyncConfiguration(
                zoneName: "Leases", syncOnSave: false, standbyRetry: .milliseconds(20)))
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/lease-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test func `a second process stands by, and takes over when the first one is killed`()
        async throws
    {
        try await withFolder { path in
            try Store(at: path, schema: Self.schema()).close()
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let store = try Store(at: path, schema: LeaseTests.schema())
                let lease = try #require(try SyncLease.take(of: store))
                withExtendedLifetime(lease) { _ = kill(getpid(), SIGKILL) }
            }
            let store = try Store(at: path, schema: Self.schema())
            defer { store.close() }
            let engine = engine(store, "a")
            try await engine.sync()
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store(at: path, schema: LeaseTests.schema())
                #expect(try SyncLease.take(of: store) == nil)
            }
            await engine.stop()
            #expect(try SyncLease.take(of: store) != nil)
        }
    }

    @Test func `a child that has the descriptor too does not keep a lease that was given back`()
        async throws
    {
        try await withFolder { path in
            let first = try Store(at: path, schema: Self.schema())
            let lease = try #require(try SyncLease.take(of: first))
            // What a process that is being started has until it runs its own program.
            let inherited = try #require(Self.duplicate(ofFile: path + "/sync.lock"))
            defer { close(inherited) }
            let second = try Store(at: path, schema: Self.schema())
            defer { second.close() }
            #expect(try SyncLease.take(of: second) == nil)
            withExtendedLifetime(lease) { first.close() }
            #expect(try SyncLease.take(of: second) != nil)
        }
    }

    private static func duplicate(ofFile path: String) -> Int32? {
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let folder = "/proc/self/fd/"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + name)
            if target == real, let descriptor = Int32(name) { return dup(descriptor) }
        }
        return nil
    }

    @Test func `an engine on another handle stands by, keeps nothing from syncing, and takes over`()
        async throws
    {
        try await withFolder { path in
            let first = try Store(at: path, schema: Self.schema())
            let second = try Store(at: path, schema: Self.schema())
            defer { second.close() }
            let one = engine(first, "a")
            let other = engine(second, "a")
            try await one.sync()
            await #expect { try await other.sync() } throws: {
                ($0 as? SyncError)?.code == .standby
            }
            #expect(other.status == .standby)
            var events = other.events.makeAsyncIterator()
            try await other.start()
            try await second.write { try $0.save(Leased(name: "saved on standby")) }
            #expect(try await one.sync().pushedRecords == 1)
            first.close()
            // It takes over by itself.
            while let event = await events.next() {
                if case .finished = event { break }
            }
            #expect(other.status != .standby)
            await other.stop()
        }
    }

    @Test func `engines of one store object take turns`() async throws {
        try await withFolder { path in
            let store = try Store(at: path, schema: Self.schema())
            defer { store.close() }
            var one: SyncEngine? = engine(store, "a")
            let other = engine(store, "a")
            try await one?.sync()
            for _ in 0..<2 {
                await #expect { try await other.sync() } throws: {
                    ($0 as? SyncError)?.code == .standby
                }
            }
            #expect(other.status == .standby)
            #expect(try SyncLease.take(of: store) == nil)
            await one?.stop()
            try await other.sync()
            #expect(other.status == .idle)
            let handle = try Store(at: path, schema: Self.schema())
            defer { handle.close() }
            #expect(try SyncLease.take(of: handle) == nil)
            await other.stop()
            // One that nobody holds any more has had its turn.
            one = engine(store, "a")
            try await one?.sync()
            #expect(try SyncLease.take(of: handle) == nil)
            weak let last = one
            one = nil
            while last != nil, !Task.isCancelled { await Task.yield() }
            #expect(try SyncLease.take(of: handle) != nil)
        }
    }
}
