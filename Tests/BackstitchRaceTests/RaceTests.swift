import Backstitch
import BackstitchStore
import BackstitchTesting
import BackstitchViews
import Foundation
import LMDB
import Threading
import TestBudget
import Testing

/// Streams, live queries, views, engines and stores that are opened and closed from several threads
/// at once, so many rounds of each. If `RACE_SECONDS` is given, all races together last so long instead.
///
/// What must be there is looked for when it must be there: a commit is in every stream that was open
/// before it when the write returns. No check waits.
@Suite(.budgeted, .serialized) struct RaceTests {
    private let jitter = Jitter(seed: UInt64.random(in: 0 ... .max))

    /// Saves a record under a new name.
    private static func save(_ store: Store, _ owner: Int, _ number: Int) async throws -> Raced.ID {
        let record = Raced(id: .init("\(owner)-\(number)"), owner: owner, number: number)
        try await store.write { _ = try $0.save(record) }
        return record.id
    }

    /// A stream has a record that was saved, without waiting.
    private static func expect(_ id: Raced.ID, in stream: ChangeSet.Stream) async throws {
        let iterator = Locked(stream.makeAsyncIterator())
        let changes = try await Racing.ready {
            var next = iterator.withLock { $0 }
            return await next.next()
        }
        #expect(changes.contains { $0.inserted(Raced.self).contains(id) })
    }

    /// Opens streams and drops them, until it is cancelled.
    private static func churn(_ store: Store) async {
        while !Task.isCancelled {
            let stream = store.changes()
            await Task.yield()
            withExtendedLifetime(stream) {}
        }
    }

    /// Runs one beside some others that last until it has ended. Their writes need a bound.
    private static func race(
        _ count: Int, _ others: @escaping @Sendable (Int) async throws -> Void,
        beside body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await others(number)
                    return false
                }
            }
            group.addTask {
                try await body()
                return true
            }
            while let isBody = try await group.next() {
                if isBody { group.cancelAll() }
            }
        }
    }

    @Test func `a stream has every commit behind its beginning, whichever other one ends`()
        async throws
    {
        let store = try Store.inMemory(schema: Racing.schema)
        let rounds = try await Racing.rounds(6) { round in
            try await Self.race(2) { _ in
                await Self.churn(store)
            } beside: {
                for number in 0..<20 {
                    let stream = store.changes()
                    let id = try await Self.save(store, round, number)
                    try await Self.expect(id, in: stream)
                }
            }
        }
        store.close()
        print("\(rounds) rounds of streams, \(jitter.count) marked points")
    }

    /// No third one opens, which would begin anew with what is there then.
    @Test func `a stream that opens while the only other one ends has what follows`() async throws {
        let store = try Store.inMemory(schema: Racing.schema)
        let rounds = try await Racing.rounds(800) { round in
            let other = Locked(Optional(store.changes()))
            async let ended: Void = { other.withLock { $0 = nil } }()
            let stream = store.changes()
            await ended
            let id = try await Self.save(store, round, 0)
            try await Self.expect(id, in: stream)
        }
        store.close()
        print("\(rounds) rounds of two streams, \(jitter.count) marked points")
    }

    @Test func `a live query has what was saved behind its beginning, whichever other one ends`()
        async throws
    {
        try await Racing.withFolder { path in
            let store = try Racing.store(at: path + "/store")
            let rounds = try await Racing.rounds(8) { round in
                try await Self.race(2) { _ in
                    await Self.churn(store)
                } beside: {
                    for number in 0..<10 {
                        let query = Query<Raced>().where(#Predicate { $0.owner == round })
                        var iterator = store.observe(query).makeAsyncIterator()
                        let before = try await iterator.next()
                        #expect(before?.count == number)
                        _ = try await Self.save(store, round, number)
                        let shared = Locked(iterator)
                        let results = try await Racing.ready {
                            var next = shared.withLock { $0 }
                            defer { shared.withLock { $0 = next } }
                            return try await next.next()
                        }
                        #expect(results.last?.count == number + 1)
                    }
                }
            }
            store.close()
            print("\(rounds) rounds of live queries, \(jitter.count) marked points")
        }
    }

    @Test func `a stream has what other handles of the files write, while handles come and go`()
        async throws
    {
        try await Racing.withFolder { path in
            let first = try Racing.store(at: path + "/store")
            let rounds = try await Racing.rounds(6) { round in
                try await Self.race(3) { number in
                    var writes = number == 0 ? 20 : 0
                    while !Task.isCancelled {
                        let store = try Racing.store(at: path + "/store")
                        let stream = store.changes()
                        if writes > 0 {
                            _ = try await Self.save(store, -1, number)
                            writes -= 1
                        }
                        if number == 1 { await Task.yield() }
                        store.close()
                        withExtendedLifetime(stream) {}
                        // The runtime may have no more threads than these tasks.
                        await Task.yield()
                    }
                } beside: {
                    for number in 0..<10 {
                        let store = try Racing.store(at: path + "/store")
                        let stream = store.changes()
                        let id = try await Self.save(first, round, number)
                        try await Self.expect(id, in: stream)
                        store.close()
                    }
                }
            }
            first.close()
            print("\(rounds) rounds of handles, \(jitter.count) marked points")
        }
    }

    @Test func `streams end with their store, whoever opens and drops them`() async throws {
        let rounds = try await Racing.rounds(15) { round in
            try await Racing.withFolder { path in
                let store = try Racing.store(at: path + "/store")
                let other = try Racing.store(at: path + "/store")
                await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            for await _ in store.changes() {}
                            for try await _ in store.observe(Query<Raced>()) {}
                        }
                    }
                    group.addTask {
                        for number in 0..<5 { _ = try await Self.save(other, round, number) }
                        store.close()
                    }
                    // A query that begins behind the end says so.
                    while let result = await group.nextResult() {
                        if case .failure(let error) = result {
                            #expect((error as? StoreError)?.code == .closed)
                        }
                    }
                }
                let stream = other.changes()
                let id = try await Self.save(other, round, 5)
                try await Self.expect(id, in: stream)
                other.close()
            }
        }
        print("\(rounds) rounds of endings, \(jitter.count) marked points")
    }

    @Test func `views have what the records have, whoever reads and opens meanwhile`() async throws
    {
        try await Racing.withFolder { path in
            let store = try Racing.store(at: path + "/store")
            let rounds = try await Racing.rounds(10) { round in
                try await Self.race(3) { number in
                    while !Task.isCancelled {
                        if number == 0 {
                            let handle = try Racing.store(at: path + "/store")
                            try await handle.prepareProjections()
                            handle.close()
                        } else {
                            try store.read { transaction in
                                let totals = try transaction.view(of: Racing.inline).totals()
                                let expected = try transaction.count(Raced.self)
                                #expect(totals.reduce(0) { $0 + $1.count } == expected)
                            }
                            await Self.pause()
                        }
                    }
                } beside: {
                    for number in 0..<20 { _ = try await Self.save(store, round, number) }
                }
                try await store.prepareProjections()
                try store.read { transaction in
                    let inline = try transaction.view(of: Racing.inline).totals()
                    let late = try transaction.view(of: Racing.late).totals()
                    #expect(inline.map(\.sum) == late.map(\.sum))
                    #expect(inline.map(\.count) == late.map(\.count))
                }
            }
            #expect(try store.verify().problems == [])
            store.close()
            print("\(rounds) rounds of views, \(jitter.count) marked points")
        }
    }

    /// A closure behind a lock was wrapped once more by each look at it, until the stack was full.
    @Test func `a point that is passed a hundred thousand times is passed as the first time`() {
        jitter.end()
        let passed = Locked(0)
        // Other suites pass points at the same time.
        let hook = TestPoint.hook { point in
            if point.utf8CodeUnitCount == 3 { passed.withLock { $0 += 1 } }
        }
        defer { TestPoint.unhook(hook) }
        for _ in 0..<100_000 { TestPoint.mark("one") }
        #expect(passed.withLock { $0 } == 100_000)
    }

    private static func pause() async { for _ in 0..<20 { await Task.yield() } }

    @Test func `a started engine hears of every save, whichever stream ends`() async throws {
        let cloud = SimulatedCloud()
        let store = try Store.inMemory(schema: Racing.schema)
        let rounds = try await Racing.rounds(30) { round in
            try await Self.race(2) { _ in
                await Self.churn(store)
            } beside: {
                // The clock stands still, so that only what is heard leads to a round.
                var configuration = SyncConfiguration(
                    zoneName: "Races", syncOnSave: true, clock: ManualClock())
                configuration.debounceMilliseconds = 1_000
                configuration.pollMilliseconds = nil
                let engine = SyncEngine(
                    store: store, service: cloud.connection(device: "a"),
                    configuration: configuration)
                try await engine.start()
                #expect(await engine.nextAttemptMilliseconds == nil)
                _ = try await Self.save(store, round, 0)
                // The change is in the engine's stream; its task needs turns to take it from there.
                while await engine.nextAttemptMilliseconds == nil { await Task.yield() }
                try await engine.sync()
                #expect(try engine.pending().pendingRecords == 0)
                await engine.stop()
            }
        }
        store.close()
        print("\(rounds) rounds of engines, \(jitter.count) marked points")
    }
}
