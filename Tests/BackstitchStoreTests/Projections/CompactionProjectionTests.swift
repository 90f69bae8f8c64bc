import Backstitch
import BackstitchCore
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

/// Views beside compaction, which takes operations out of the log.
@Suite(.budgeted) struct CompactionProjectionTests {
    private func edit(_ store: Store, _ writes: Range<Int>) async throws {
        for write in writes {
            try await store.write { transaction in
                for number in 0..<10 {
                    let id = Department.ID("d\(number)")
                    try transaction.save(Department(id: id, name: "\(write) \(number)"))
                }
                if write % 2 == 1 { _ = try transaction.delete(Department.ID("d\(write % 10)")) }
            }
            try await store.settle()
        }
    }

    @Test func `compaction leaves views alone, and they can be built from baselines`() async throws
    {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await edit(store, 0..<20)
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.removed > 100)
        try store.expect(mirror)
        try await store.rebuildProjection(named: "mirror")
        try store.expect(mirror)
        try await edit(store, 20..<22)
        try store.expect(mirror)
    }

    @Test func `compaction waits for a view of its store that is behind`() async throws {
        let late = Mirror(name: "late", mode: .catchingUp)
        let store = try Store.projecting(late)
        await store.stopProjections()
        try await edit(store, 0..<10)
        #expect(try store.status("late")?.checkpoint == 0)
        #expect(try await store.compact(.keepUnsyncedOnly).compactedThrough == 0)
        try await store.prepareProjections()
        #expect(try await store.compact(.keepUnsyncedOnly).compactedThrough > 0)
        try store.expect(late)
    }

    @Test func `a view that failed holds nothing up and is built anew`() async throws {
        let refused = Locked<UInt64>(30)
        let mirror = Mirror(refuses: { if $0 == refused.withLock({ $0 }) { throw Planned() } })
        let store = try Store.projecting(mirror)
        await store.stopProjections()
        try await edit(store, 0..<10)
        #expect(try store.status()?.checkpoint == 29)
        #expect(try await store.compact(.keepUnsyncedOnly).compactedThrough > 100)
        #expect(try store.status()?.checkpoint == 0)
        guard case .failed = try store.status()?.state else {
            Issue.record("A view that failed and was emptied has failed still.")
            return
        }
        refused.withLock { $0 = 0 }
        try await store.prepareProjections()
        try store.expect(mirror)
    }

    @Test(arguments: [1, 5, 31])
    func `a program without the projection compacts, and the view is built anew`(
        perChunk: Int
    ) async throws {
        let folder = try TemporaryFolder()
        let mirror = Mirror()
        let store = try folder.open(configuration: .projecting(mirror))
        try await edit(store, 0..<5)
        store.close()
        let plain = try folder.open()
        try await edit(plain, 5..<15)
        let head = try plain.head
        _ = try await StoreCompaction(plain, operationsPerChunk: perChunk).run(through: head)
        #expect(try plain.projections().first?.checkpoint == 0)
        plain.close()
        let again = try folder.open(configuration: .projecting(mirror))
        try await again.prepareProjections()
        try again.expect(mirror)
    }

    @Test func `compaction up to the checkpoint keeps a view that is behind`() async throws {
        let folder = try TemporaryFolder()
        let mirror = Mirror()
        let store = try folder.open(configuration: .projecting(mirror))
        try await edit(store, 0..<5)
        let checkpoint = try store.head
        store.close()
        let plain = try folder.open()
        try await edit(plain, 5..<10)
        _ = try await plain.compact(through: checkpoint)
        #expect(try plain.projections().first?.checkpoint == checkpoint)
        plain.close()
        let again = try folder.open(configuration: .projecting(mirror))
        try await again.prepareProjections()
        try again.expect(mirror)
    }

    @Test func `commits that compact in passing keep views up`() async throws {
        let mirror = Mirror()
        let late = Mirror(name: "late", mode: .catchingUp)
        let store = try Store.inMemory(
            schema: .all,
            configuration: StoreConfiguration(
                retention: .keepUnsyncedOnly, projections: [mirror, late]))
        for write in 0..<20 {
            try await store.write { transaction in
                for number in 0..<250 {
                    let id = Department.ID("d\(number % 50)")
                    try transaction.save(Department(id: id, name: "\(write) \(number)"))
                }
            }
            try await store.settle()
            if write % 5 == 0 { try await store.prepareProjections() }
        }
        #expect(try store.info().compactedThrough > 0)
        try await store.prepareProjections()
        try store.expect(mirror)
        try store.expect(late)
    }

    @Test func `a view that needs the whole log goes on, but is not built from baselines`()
        async throws
    {
        let journal = Journal()
        let store = try Store.projecting(journal)
        try await edit(store, 0..<6)
        let texts = try store.read { try $0.view(of: journal).texts() }
        #expect(texts.count == 63)
        #expect(try store.verify().problems == [])
        _ = try await store.compact(.keepUnsyncedOnly)
        try await edit(store, 6..<7)
        #expect(try store.read { try $0.view(of: journal).texts() }.starts(with: texts))
        #expect(try store.verify().problems == [])
        let error = await #expect(throws: StoreError.self) {
            try await store.rebuildProjection(named: "journal")
        }
        #expect(error?.code == .projectionFailed)
        #expect(error?.message.contains("whole log") == true)
        let lax = try Store.projecting(Journal(needsWholeLog: false))
        try await edit(lax, 0..<6)
        _ = try await lax.compact(.keepUnsyncedOnly)
        try await lax.rebuildProjection(named: "journal")
        let rebuilt = try lax.read { try $0.view(of: journal).texts() }
        #expect(rebuilt.contains { $0.hasSuffix("baseline") })
        #expect(rebuilt.count < 20)
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `a view is the same whatever was compacted when it was built`(seed: UInt64) async throws {
        let mirror = Mirror()
        let history = try CompactionHistory(seed: seed, projections: [mirror])
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3 {
            try await history.run(4)
            try await history.settle()
            let horizon = UInt64.random(in: 1...(try history.store.head), using: &random)
            _ = try await StoreCompaction(history.store, operationsPerChunk: 7).run(
                through: horizon)
            try history.store.expect(mirror, "seed \(seed)")
            if seed % 2 == 0 { try await history.store.rebuildProjection(named: "mirror") }
        }
        try history.store.expect(mirror, "seed \(seed)")
    }
}
