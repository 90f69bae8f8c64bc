import Backstitch
import BenchmarkKit
import Foundation
import PeerInterface

extension EngineBenchmark {
    private static let saves = 500
    private static let streamedRecords = 100_000

    /// From the call of a save to its return, and to the delivery of a live query that it changes.
    mutating func live() async throws {
        let (returned, delivered) = try await withStore { store in
            try save(0..<1_000, in: store)
            let low: Int64 = 0
            let query = Query<Contact>().where(#Predicate { $0.age >= low }).sorted(by: \.age)
                .limit(10)
            var iterator = store.observe(query).makeAsyncIterator()
            _ = try await iterator.next()
            var returned: [Double] = []
            var delivered: [Double] = []
            for number in 0..<Self.saves {
                var changed = contact(0)
                // The first of the result, and every save changes it.
                changed.age = low
                changed.balance = Double(number)
                let saved = changed
                let start = peer_nanoseconds()
                async let end = Self.save(saved, in: store)
                _ = try await iterator.next()
                delivered.append(Double(peer_nanoseconds() - start))
                returned.append(Double(try await end - start))
            }
            return (returned, delivered)
        }
        note("live-save-p50", returned.percentile(0.5))
        note("live-save-p99", returned.percentile(0.99))
        note("live-delivery-p50", delivered.percentile(0.5))
        note("live-delivery-p99", delivered.percentile(0.99))
    }

    /// A save while nobody observes, and while 200 live queries or 200 observed reads do, of which it
    /// concerns one.
    ///
    /// The three take turns, so that what the machine does meanwhile falls on all.
    mutating func observed() async throws {
        var times: [String: [Double]] = [:]
        try await withStore(.relaxed) { store in
            try save(0..<1_000, in: store)
            for _ in 0..<Self.observedRounds {
                times["none", default: []].append(try saveObserved(in: store))
                let queries = try await Self.observers(in: store) { store, age in
                    let stream = store.observe(Query<Contact>().where(\.age, is: age))
                    return { for try await _ in stream {} }
                }
                times["queries", default: []].append(try saveObserved(in: store))
                await Self.end(queries)
                let reads = try await Self.observers(in: store) { store, age in
                    let stream = store.observe { transaction in
                        try transaction.count(Query<Contact>().where(\.age, is: age))
                    }
                    return { for try await _ in stream {} }
                }
                times["reads", default: []].append(try saveObserved(in: store))
                await Self.end(reads)
            }
        }
        for (name, times) in times.sorted(by: { $0.key < $1.key }) {
            note("observed-\(name)", times.percentile(0.5))
        }
    }

    private static let observedRounds = 5

    /// The time of a save, of many one after another.
    private func saveObserved(in store: Store) throws -> Double {
        let start = peer_nanoseconds()
        for number in 0..<Self.observedSaves {
            var changed = contact(number % 1_000)
            changed.age = Int64(number % 200)
            changed.balance = Double(start + Int64(number))
            let saved = changed
            try store.write { try $0.save(saved) }
        }
        return Double(peer_nanoseconds() - start) / Double(Self.observedSaves)
    }

    private static let observedSaves = 2_000

    /// Begins to observe 200 times, and waits until each has read.
    private static func observers(
        in store: Store,
        _ observe: (Store, Int64) -> (@Sendable () async throws -> Void)
    ) async throws -> [Task<Void, any Error>] {
        let tasks = (0..<Int64(200)).map { age in
            let run = observe(store, age)
            return Task { try await run() }
        }
        try await Task.sleep(for: .milliseconds(200))
        return tasks
    }

    private static func end(_ tasks: [Task<Void, any Error>]) async {
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
    }

    /// From the call of a save in another process to its delivery in this one.
    mutating func processes() async throws {
        let delivered = try await withStore { store in
            var changes = store.changes().makeAsyncIterator()
            let writer = Process()
            writer.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            writer.arguments = [SaveTimesCommand.name, store.directory.path, "\(Self.saves)"]
            try writer.run()
            defer { writer.waitUntilExit() }
            var delivered: [Double] = []
            while delivered.count < Self.saves, let change = await changes.next() {
                let end = Double(peer_nanoseconds())
                for id in change.inserted(Contact.self) {
                    guard let saved = try store.read({ try $0.find(Contact.self, id) }) else {
                        throw EngineFailure(description: "what another process saved is not there")
                    }
                    delivered.append(end - saved.balance)
                }
            }
            return delivered
        }
        note("process-delivery-p50", delivered.percentile(0.5))
        note("process-delivery-p99", delivered.percentile(0.99))
    }

    /// Saves a contact and returns the time when it was done.
    private static func save(_ contact: Contact, in store: Store) async throws -> Int64 {
        try await store.write { tx in _ = try tx.save(contact) }
        return peer_nanoseconds()
    }

    /// Change sets from commits of one save and of 1,000 to one reader; what the commits cost is
    /// part of it.
    mutating func changes() async throws {
        for (size, count) in [(1, 5_000), (1_000, Self.streamedRecords / 1_000)] {
            let nanoseconds = try await withStore(.relaxed) { store in
                let stream = store.changes()
                let last = UInt64(size * count)
                let start = peer_nanoseconds()
                async let end = Self.read(stream, through: last)
                for part in Self.parts(0..<(size * count), of: size) { try save(part, in: store) }
                return await end - start
            }
            note("changes-\(size)", Double(nanoseconds) / Double(size * count))
        }
    }

    /// Reads change sets up to an operation and returns the time when it came.
    private static func read(_ stream: ChangeSet.Stream, through last: UInt64) async -> Int64 {
        for await changes in stream where changes.sequences.upperBound > last { break }
        return peer_nanoseconds()
    }
}
