import Backstitch
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import SmallDisk
import TestBudget
import Testing

/// A note that takes some hundred bytes.
@Entity("Bulky") struct Bulky: Equatable {
    var id = ID()
    var body: String
    var edition = 0

    static func body(_ number: Int) -> String {
        String(repeating: "\(number)-abcdefghij", count: 1 + 480 / "\(number)-abcdefghij".count)
    }
}

/// Stores on file systems that are really full.
@Suite(
    .budgeted, .serialized, .enabled(if: !SmallDisk.kinds.isEmpty, "nothing can be mounted here"))
struct FullDiskTests {
    static let schema = StoreSchema(Bulky.self)

    private static func code(_ body: () async throws -> Void) async -> StoreError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    /// Saves twenty records in a transaction, again and again, until that fails.
    ///
    /// - Returns: what was saved, and why it ended.
    private static func fill(
        _ store: Store, from first: Int = 0
    ) async -> (saved: Set<Bulky.ID>, code: StoreError.Code?) {
        var saved: Set<Bulky.ID> = []
        var number = first
        while true {
            let numbers = number..<number + 20
            do {
                try await store.write { tx in
                    for number in numbers {
                        try tx.insert(
                            Bulky(id: .init("r\(number)"), body: Bulky.body(number)))
                    }
                }
            } catch {
                return (saved, (error as? StoreError)?.code)
            }
            saved.formUnion(numbers.map { Bulky.ID("r\($0)") })
            number += 20
        }
    }

    private static func ids(_ store: Store) throws -> Set<Bulky.ID> {
        try store.read { Set(try $0.fetch(Bulky.self).map(\.id)) }
    }

    @Test(
        arguments: SmallDisk.kinds, Load.some(of: [0, 4_096, 12_288, 40_960, 135_168], oneOf: 3))
    func `a disk that gets full fails writes alone, and everything goes on when there is space`(
        kind: SmallDisk.Kind, offset: Int
    ) async throws {
        let disk = try SmallDisk(kind)
        try disk.take(2 << 20)
        try disk.take(offset)
        let path = disk.path + "/store"
        let store = try Store(at: path, schema: Self.schema)
        let filled = await Self.fill(store)
        var expected = filled.saved
        #expect(filled.code == .full)
        #expect(try Self.ids(store) == expected)
        // More of the same, small and large, changes nothing.
        for count in [1, 5, 200, 2_000] {
            let code = await Self.code {
                try await store.write { tx in
                    for number in 0..<count {
                        try tx.insert(Bulky(id: .init("x\(count)-\(number)"), body: Bulky.body(1)))
                    }
                }
                expected.formUnion((0..<count).map { Bulky.ID("x\(count)-\($0)") })
            }
            #expect(code == nil || code == .full)
            #expect(try Self.ids(store) == expected)
        }
        // Deletes go on, one by one, with saves between them that don't take their space.
        for (number, id) in expected.sorted(by: { "\($0)" < "\($1)" }).prefix(200).enumerated() {
            #expect(await Self.code { _ = try await store.write { try $0.delete(id) } } == nil)
            expected.remove(id)
            guard number % 5 == 0 else { continue }
            let code = await Self.code {
                try await store.write { tx in
                    for part in 0..<50 {
                        try tx.insert(Bulky(id: .init("d\(number)-\(part)"), body: Bulky.body(1)))
                    }
                }
            }
            #expect(code == .full)
        }
        #expect(try Self.ids(store) == expected)
        disk.give()
        let more = await Self.fill(store, from: 1_000_000)
        #expect(more.saved.count > 100)
        #expect(more.code == .full)
        expected.formUnion(more.saved)
        #expect(try Self.ids(store) == expected)
        #expect(try store.verify().problems == [])
        store.close()
        let reopened = try Store(at: path, schema: Self.schema)
        defer { reopened.close() }
        #expect(try Self.ids(reopened) == expected)
        #expect(try reopened.verify().problems == [])
    }

    @Test(arguments: SmallDisk.kinds)
    func `a store for which there is no room is refused, and is made once there is some`(
        kind: SmallDisk.Kind
    ) async throws {
        let disk = try SmallDisk(kind)
        for free in [0, 4, 8, 12, 24, 40, 64, 80, 96, 128, 192, 256] {
            try disk.take()
            disk.give(allBut: try disk.taken - free << 10)
            let path = disk.path + "/store-\(free)"
            let code = await Self.code {
                let store = try Store(at: path, schema: Self.schema)
                defer { store.close() }
                try await store.write { try $0.insert(Bulky(id: "a", body: "")) }
            }
            #expect([nil, .full].contains(code), "\(free)")
            #expect(code == .full || free > 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: disk.path)
            #expect(!names.contains { $0.contains("draft") }, "\(names)")
            disk.give()
            let store = try Store(at: path, schema: Self.schema)
            try await store.write { try $0.insert(Bulky(id: "b", body: "")) }
            let expected: Set<Bulky.ID> = code == nil ? ["a", "b"] : ["b"]
            #expect(try Self.ids(store) == expected, "\(free)")
            #expect(try store.verify().problems == [])
            store.close()
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test(arguments: SmallDisk.kinds)
    func `a copy without a lock file is read on a full disk, and is not written to`(
        kind: SmallDisk.Kind
    ) async throws {
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        let made = try Store(at: path, schema: Self.schema)
        try await made.write { try $0.insert(Bulky(id: "a", body: "")) }
        made.close()
        try FileManager.default.removeItem(atPath: path + "/lock.mdb")
        try disk.take()
        let read = try Store.open(existing: path)
        #expect(try read.read { try $0.count(of: "Bulky") } == 1)
        read.close()
        let code = await Self.code { try Store(at: path, schema: Self.schema).close() }
        #expect(code == .full)
        disk.give()
        let store = try Store(at: path, schema: Self.schema)
        defer { store.close() }
        #expect(try Self.ids(store) == ["a"])
    }

    @Test(arguments: SmallDisk.kinds)
    func `a full disk has a place for every reader`(kind: SmallDisk.Kind) async throws {
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        let store = try Store(at: path, schema: Self.schema)
        defer { store.close() }
        try await store.write { try $0.insert(Bulky(id: "a", body: "")) }
        try disk.take()
        // Reads inside reads, so that all are there at once.
        func read(_ depth: Int) throws -> Int {
            try store.read { transaction in
                let rest = depth == 1 ? 0 : try read(depth - 1)
                return try transaction.count(Bulky.self) + rest
            }
        }
        #expect(try read(500) == 500)
    }

    @Test(arguments: SmallDisk.kinds)
    func `deletes go on while something else fills the disk`(kind: SmallDisk.Kind) async throws {
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        let filled = try Store(at: path, schema: Self.schema)
        for part in 0..<10 {
            try await filled.write { tx in
                for number in 0..<100 {
                    try tx.insert(
                        Bulky(
                            id: .init("r\(part * 100 + number)"),
                            body: Bulky.body(number)))
                }
            }
        }
        try await filled.write { tx in
            for number in 500..<1_000 { try tx.delete(Bulky.ID("r\(number)")) }
        }
        for edition in 1...5 {
            try await filled.write { tx in
                try tx.save(Bulky(id: "r400", body: Bulky.body(400), edition: edition))
            }
        }
        filled.close()
        try FileManager.default.removeItem(atPath: path + "/journal")
        try disk.take()
        let store = try Store(at: path, schema: Self.schema)
        defer { store.close() }
        for number in 0..<100 { try await store.write { try $0.delete(Bulky.ID("r\(number)")) } }
        #expect(try Self.ids(store).count == 400)
        // An unfinished journal would take what is left.
        let journal = path + "/journal"
        let size = try? FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int
        #expect((size ?? 0) <= 8_192)
        disk.give()
        for number in 0..<20 {
            try await store.write { try $0.insert(Bulky(id: .init("n\(number)"), body: "")) }
        }
        #expect(
            try FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int
                ?? 0 > 1 << 20)
        #expect(try store.verify().problems == [])
    }

    @Test(arguments: SmallDisk.kinds)
    func `a first pull onto a disk that fills goes on by itself when there is space`(
        kind: SmallDisk.Kind
    ) async throws {
        let cloud = SimulatedCloud()
        let source = try Store.inMemory(schema: Self.schema)
        defer { source.close() }
        for part in 0..<10 {
            try await source.write { tx in
                for number in 0..<100 {
                    try tx.insert(
                        Bulky(
                            id: .init("r\(part * 100 + number)"),
                            body: Bulky.body(number)))
                }
            }
        }
        try await SyncEngine(
            store: source, service: cloud.connection(device: "source"),
            configuration: SyncConfiguration(zoneName: "Disk", syncOnSave: false)
        ).sync()

        let disk = try SmallDisk(kind)
        let store = try Store(at: disk.path + "/store", schema: Self.schema)
        defer { store.close() }
        try disk.take()
        disk.give(allBut: try disk.taken - 200 << 10)
        let clock = ManualClock()
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "target"),
            configuration: SyncConfiguration(zoneName: "Disk", syncOnSave: true, clock: clock))
        try await engine.start()
        // Whatever it has, it can be read, and the engine is about to try again.
        for _ in 0..<3 {
            let count = try store.read { try $0.count(Bulky.self) }
            #expect(count < 1_000)
            try await clock.wake(engine)
        }
        disk.give()
        var attempts = 0
        while try store.read({ try $0.count(Bulky.self) }) < 1_000, attempts < 20 {
            try await clock.wake(engine)
            attempts += 1
        }
        #expect(try Self.ids(store) == Self.ids(source))
        #expect(engine.status == .idle)
        #expect(try engine.pending().pendingRecords == 0)
        await engine.stop()
    }

    @Test(arguments: SmallDisk.kinds)
    func `a compaction on a full disk makes room`(kind: SmallDisk.Kind) async throws {
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        let store = try Store(at: path, schema: Self.schema)
        defer { store.close() }
        for edition in 0..<8 {
            try await store.write { tx in
                for number in 0..<1_000 {
                    try tx.save(
                        Bulky(
                            id: .init("r\(number)"), body: Bulky.body(number + edition),
                            edition: edition))
                }
            }
        }
        let cloud = SimulatedCloud()
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Disk", syncOnSave: false))
        try await engine.sync()
        try disk.take()
        var expected = try Self.ids(store)
        let (saved, code) = await Self.fill(store, from: 5_000)
        #expect(code == .full)
        expected.formUnion(saved)
        try disk.take()
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.removed > 6_000)
        #expect(report.returnedBytes > 1 << 20)
        #expect(try Self.ids(store) == expected)
        let more = await Self.fill(store, from: 10_000)
        #expect(more.saved.count > 100)
        #expect(try store.verify().problems == [])
    }
}

extension ManualClock {
    /// Moves the clock to the engine's next attempt, and waits for the end of its round.
    fileprivate func wake(_ engine: SyncEngine) async throws {
        while sleeperCount == 0, !Task.isCancelled { await Task.yield() }
        var events = engine.events.makeAsyncIterator()
        advanceToNextWake()
        while let event = await events.next() {
            switch event {
            case .finished, .failed: return
            default: continue
            }
        }
    }
}
