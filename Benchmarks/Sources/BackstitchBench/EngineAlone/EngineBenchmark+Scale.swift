import Backstitch
import BackstitchService
import BenchmarkKit
import Foundation
import PeerInterface
import Synchronization

extension EngineBenchmark {
    /// What is not to grow with the size of a store: counts of what waits, the memory of a push, and
    /// how long a small write waits behind other work.
    mutating func scale() async throws {
        try await counts()
        try await largePush()
        try await waits()
    }

    /// The status of a store in which everything is unsynced, and the end of that.
    private mutating func counts() async throws {
        let templates = [
            ServiceRecord(
                recordName: "none", recordType: "Contact", changeTag: "t",
                modifiedMilliseconds: 1, fields: [:])
        ]
        let operations = options.operations
        let (pending, push) = try await withStore(.relaxed) { store in
            for part in Self.parts(0..<operations) { try self.save(part, in: store) }
            let service = GeneratedService(templates: templates, count: 0)
            let engine = SyncEngine(
                store: store, service: service,
                configuration: SyncConfiguration(zoneName: "Bench", syncOnSave: false))
            var times: [Double] = []
            for _ in 0..<20 {
                let start = peer_nanoseconds()
                let counts = try engine.pending()
                times.append(Double(peer_nanoseconds() - start))
                guard counts.pendingOperations == operations else {
                    throw EngineFailure(description: "\(counts) is not what waits")
                }
            }
            await engine.stop()
            let push = try await self.exchange("push-all", operations, store, service)
            guard try store.info().outbox.pendingRecords == 0 else {
                throw EngineFailure(description: "not every record was pushed")
            }
            return (times.max() ?? 0, push)
        }
        note("pending-\(operations)", pending)
        note("push-\(operations)-anonymous", push.anonymousBytes, "bytes")
        note("push-\(operations)", push.operationsPerSecond, "operations/s")
    }

    /// The memory of a push of records of 900,000 bytes.
    private mutating func largePush() async throws {
        let count = 1_000
        let push = try await withStore(.relaxed) { store in
            let samples = (0..<count).map { self.contact($0) }
            for contact in samples {
                try await store.write { tx in
                    var large = contact
                    large.notes = String(repeating: "x", count: 900_000)
                    _ = try tx.save(large)
                }
            }
            let service = GeneratedService(templates: [], count: 0)
            return try await self.exchange("push-large", count, store, service)
        }
        note("push-large-heap", push.heapBytes, "bytes")
        note("push-large-anonymous", push.anonymousBytes, "bytes")
    }

    // MARK: Waiting

    private mutating func waits() async throws {
        let count = min(options.operations, 100_000)
        for (name, body) in Self.work(count) {
            let wait = try await withStore(.full) { store in
                for part in Self.parts(0..<count) { try self.save(part, in: store) }
                return try await Self.longestWait(in: store) { try await body(store) }
            }
            note("wait-\(name)", wait)
        }
    }

    private typealias Piece = @Sendable (Store) async throws -> Void

    /// Work behind which a small write may wait, over so many contacts.
    private static func work(_ count: Int) -> [(name: String, body: Piece)] {
        let all = Query<Contact>()
        return [
            (
                "update-\(count)",
                { store in
                    try await store.write { tx in
                        _ = try tx.update(all, set: { $0.balance += 1 })
                    }
                }
            ),
            (
                "update-10000",
                { store in
                    try await store.write { tx in
                        _ = try tx.update(all.limit(10_000), set: { $0.balance += 1 })
                    }
                }
            ),
            (
                "update-in-parts",
                { store in
                    _ = try await store.update(all, inPartsOf: 1_000) { $0.balance += 1 }
                }
            ),
            (
                "delete-\(count)",
                { store in
                    try await store.write { tx in _ = try tx.delete(all) }
                }
            ),
            (
                "delete-in-parts",
                { store in
                    _ = try await store.delete(all, inPartsOf: 1_000)
                }
            ),
            (
                "import",
                { store in
                    var lines: [[UInt8]] = []
                    _ = try store.export { lines.append($0) }
                    lines.reverse()
                    _ = try await store.delete(all, inPartsOf: 1_000)
                    _ = try await store.importRecords(from: { lines.popLast() })
                }
            ),
            (
                "push-compact",
                { store in
                    try await sync(store, GeneratedService(templates: [], count: 0))
                    try await store.compact(.keepUnsyncedOnly)
                }
            ),
            (
                "pull",
                { store in
                    let fields: NamedFields = [
                        "firstName": .string("a"), "lastName": .string("b"), "email": .string("c"),
                        "age": .int64(1), "balance": .double(1), "active": .int64(1),
                        "createdAt": .timestamp(milliseconds: 1),
                        "notes": .string(String(repeating: "n", count: 100)),
                    ]
                    let template = ServiceRecord(
                        recordName: "", recordType: "Contact", changeTag: "t",
                        modifiedMilliseconds: 1, fields: fields)
                    try await sync(store, GeneratedService(templates: [template], count: count))
                }
            ),
        ]
    }

    private static func sync(_ store: Store, _ service: GeneratedService) async throws {
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Bench", syncOnSave: false))
        _ = try await engine.sync()
        await engine.stop()
    }

    /// The longest time that a save of one record took while something else went on, in nanoseconds.
    private static func longestWait(
        in store: Store, _ body: () async throws -> Void
    ) async throws -> Double {
        let saves = SmallSaves()
        let running = Task { try await saves.run(store) }
        try await Task.sleep(for: .milliseconds(20))
        do {
            try await body()
        } catch {
            saves.end()
            throw error
        }
        saves.end()
        return Double(try await running.value)
    }
}

/// Saves one record after another until it is told to end.
private final class SmallSaves: Sendable {
    private let isOver = Atomic(false)

    func end() { isOver.store(true, ordering: .relaxed) }

    /// - Returns: the longest time that a save took, in nanoseconds.
    func run(_ store: Store) async throws -> UInt64 {
        var longest: UInt64 = 0
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number += 1
            let name = "\(number)"
            let start = peer_nanoseconds()
            try await store.write { tx in _ = try tx.save(Department(id: "d", name: name)) }
            longest = max(longest, UInt64(max(0, peer_nanoseconds() - start)))
        }
        return longest
    }
}
