import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import Glibc
import Threading
import TestBudget
import Testing

@testable import BackstitchLog
@testable import BackstitchStore

/// The log of a store without a service, and that of writes which stay on the device.
@Suite(.budgeted) struct NeverSyncingTests {
    private static func configuration(
        retention: RetentionPolicy = .keepAll
    ) -> StoreConfiguration {
        StoreConfiguration(durability: .relaxed, retention: retention, syncs: false)
    }

    private func name(
        _ id: String, _ name: String, isLocalOnly: Bool = false, in store: Store
    ) async throws {
        try await store.write(isLocalOnly: isLocalOnly) {
            _ = try $0.save(Department(id: .init(id), name: name))
        }
    }

    private func expectWhole(
        _ store: Store, _ comment: Comment? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let violation = try store.read { try TableInvariants($0.reader).violation() }
        #expect(violation == nil, comment, sourceLocation: location)
        try await store.expectConsistent(location)
    }

    // MARK: Without a service

    @Test func `a store that never syncs keeps one operation a record`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: Self.configuration())
        for number in 1...50 { try await name("a", "\(number)", in: store) }
        try await name("b", "1", in: store)
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.removed == 49)
        #expect(try store.kinds() == ["50 baseline", "51 insert"])
        let info = try store.info()
        #expect(!info.syncs)
        #expect(info.outbox.pendingRecords == 2)
        #expect(info.outbox.pendingOperations == 2)
        #expect(try store.read { try $0.find(Department.self, "a") }?.name == "50")
        try await expectWhole(store)
        try await name("a", "51", in: store)
        try await name("b", "2", in: store)
        try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["51 baseline", "52 baseline", "53 update"])
        #expect(try store.info().outbox.pendingOperations == 2)
        try await expectWhole(store)
    }

    @Test func `a record that was deleted in it leaves nothing`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: Self.configuration())
        try await name("a", "1", in: store)
        try await name("a", "2", in: store)
        try await store.write { _ = try $0.delete(Department.ID("a")) }
        #expect(try store.info().entities.allSatisfy { $0.tombstones == 0 })
        #expect(try store.info().outbox.pendingOperations == 0)
        try await expectWhole(store)
        try await name("b", "1", in: store)
        try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["4 insert"])
        try await name("a", "3", in: store)
        #expect(try store.pushes().count == 2)
        try await expectWhole(store)
    }

    @Test func `a record that ended and began again counts once`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: Self.configuration())
        try await name("a", "1", in: store)
        try await name("a", "2", in: store)
        try await store.write { _ = try $0.delete(Department.ID("a")) }
        try await name("a", "3", in: store)
        try await name("a", "4", in: store)
        for horizon in 1...4 as ClosedRange<UInt64> {
            try await store.compact(through: horizon)
            #expect(try store.info().outbox.pendingOperations == 1)
            try await expectWhole(store)
        }
        #expect(try store.kinds() == ["4 baseline", "5 update"])
    }

    @Test func `an undone delete brings the record back`() async throws {
        let store = try Store.inMemory(schema: .all, configuration: Self.configuration())
        try await name("a", "1", in: store)
        try await store.write { _ = try $0.delete(Department.ID("a")) }
        let transaction = try store.head
        try await store.write { _ = try $0.undo(transaction: transaction) }
        #expect(try store.read { try $0.find(Department.self, "a") }?.name == "1")
        try await expectWhole(store)
    }

    @Test func `days of retention hold without a service`() async throws {
        let clock = ManualClock()
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(syncs: false, clock: clock))
        for day in 0..<4 as Range<Int64> {
            clock.set(1_700_000_000_000 + day * 86_400_000)
            try await name("a", "\(day)", in: store)
        }
        try await store.compact(.keepAll)
        #expect(try store.info().compactedThrough == 0)
        try await store.compact(.keepUnsynced(days: 2))
        #expect(try store.kinds().map { String($0.prefix(1)) } == ["1", "2", "3", "4"])
        try await store.compact(.keepUnsynced(days: 1))
        #expect(try store.kinds() == ["2 baseline", "3 update", "4 update"])
        try await expectWhole(store)
    }

    @Test(arguments: [false, true])
    func `commits shorten the log in passing`(isLocalOnly: Bool) async throws {
        var configuration = Self.configuration(retention: .keepUnsyncedOnly)
        configuration.syncs = isLocalOnly
        let store = try Store.inMemory(schema: .all, configuration: configuration)
        try await name("waits", "1", in: store)
        for write in 0..<26 {
            try await store.write(isLocalOnly: isLocalOnly) { transaction in
                for number in 0..<250 {
                    let id = Department.ID("d\(number % 50)")
                    try transaction.save(Department(id: id, name: "\(write) \(number)"))
                }
            }
        }
        let info = try store.info()
        #expect(info.lastSequence == 6_501)
        #expect(info.operations < 3_500, "\(info.operations) operations are left")
        #expect(store.compactionFailure == nil)
        try await expectWhole(store)
    }

    @Test(arguments: Load.some(of: UInt64(0)...19, oneOf: 7))
    func `its log is as long as it has records, whatever was done`(seed: UInt64) async throws {
        let store = try Store.inMemory(schema: .all, configuration: Self.configuration())
        var model = StoreModel(seed: seed)
        let comment = Comment(rawValue: "seed \(seed)")
        for _ in 0..<25 {
            let steps = model.steps()
            try await store.write { transaction in
                for step in steps { try step.perform(transaction) }
            }
            model.perform(steps)
            let tables = try store.tableImage()
            let chunk = Int.random(in: 1...9, using: &model.generator)
            let head = try store.head
            let horizon = UInt64.random(in: 0...head, using: &model.generator)
            _ = try await StoreCompaction(store, operationsPerChunk: chunk).run(through: horizon)
            #expect(try store.tableImage() == tables, comment)
            let violation = try store.read { try TableInvariants($0.reader).violation() }
            #expect(violation == nil, comment)
        }
        try await store.compact(.keepUnsyncedOnly)
        let (departments, employees, projects) = try store.read { transaction in
            (
                try transaction.fetch(Department.self), try transaction.fetch(Employee.self),
                try transaction.fetch(Project.self)
            )
        }
        #expect(departments == model.departments.values.sorted { $0.id < $1.id }, comment)
        #expect(employees == model.employees.values.sorted { $0.id < $1.id }, comment)
        #expect(projects == model.projects.values.sorted { $0.id < $1.id }, comment)
        // The last operation stays beside the baseline of its record.
        let records = departments.count + employees.count + projects.count
        #expect(try store.info().operations <= records + 2, comment)
        #expect(try store.pushes().count == records, comment)
        try await expectWhole(store, comment)
    }

    @Test(arguments: 0..<5)
    func `a crash between two chunks loses nothing`(commits: Int) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: Self.configuration())
        for number in 0..<12 { try await name("d\(number % 3)", "\(number)", in: store) }
        try await store.write { _ = try $0.delete(Department.ID("d1")) }
        try await name("last", "1", in: store)
        let left = Locked(commits)
        store.setCommitFault {
            let isDue = left.withLock { left -> Bool in
                left -= 1
                return left < 0
            }
            if isDue { throw Planned() }
        }
        do {
            _ = try await StoreCompaction(store, operationsPerChunk: 3).run(through: .max)
        } catch is Planned {}
        store.setCommitFault(nil)
        store.close()
        let reopened = try folder.open(configuration: Self.configuration())
        defer { reopened.close() }
        let names = try reopened.read { try $0.fetch(Department.self).map(\.name) }
        #expect(names == ["9", "11", "1"])
        try await expectWhole(reopened)
        try await reopened.compact(.keepUnsyncedOnly)
        #expect(try reopened.kinds() == ["10 baseline", "12 baseline", "14 insert"])
        try await expectWhole(reopened)
    }

    // MARK: Opening

    @Test func `the store keeps the setting until it is opened with another one`() async throws {
        let folder = try TemporaryFolder()
        let first = try folder.open(configuration: Self.configuration())
        for number in 1...3 { try await name("a", "\(number)", in: first) }
        first.close()
        let tool = try Store.open(existing: folder.store, access: .readWrite)
        #expect(try !tool.info().syncs)
        #expect(try await tool.compact(.keepUnsyncedOnly).removed == 1)
        tool.close()
        let syncing = try folder.open()
        #expect(try syncing.info().syncs)
        #expect(try syncing.pushes().count == 1)
        try await name("a", "4", in: syncing)
        try await name("a", "5", in: syncing)
        #expect(try await syncing.compact(.keepUnsyncedOnly).removed == 0)
        syncing.close()
        let again = try folder.open(configuration: Self.configuration())
        defer { again.close() }
        #expect(try await again.compact(.keepUnsyncedOnly).removed == 2)
        try await expectWhole(again)
    }

    @Test func `a store that was synchronised can't be opened as one that never syncs`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await store.withLogWriter {
            try $0.setMeta(MetaName.syncTurn, UInt64(1).bigEndianBytes)
        }
        store.close()
        let error = failure { _ = try folder.open(configuration: Self.configuration()) }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains("Leave syncs true") == true)
        let reopened = try folder.open()
        #expect(try reopened.info().syncs)
        reopened.close()
    }

    // MARK: With a service

    @Test func `operations that stay on the device count as settled`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await name("waits", "1", in: store)
        for number in 1...40 { try await name("a", "\(number)", isLocalOnly: true, in: store) }
        let pushes = try store.pushes()
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.removed == 38)
        #expect(try store.kinds() == ["1 insert", "40 baseline", "41 update"])
        #expect(try store.pushes() == pushes)
        #expect(pushes.count == 1)
        try await expectWhole(store)
    }

    @Test func `what was made pending again is not lost behind the floor`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await name("a", "1", in: store)
        try await store.settle()
        try await name("b", "1", in: store)
        try await store.settle()
        try await store.compact(.keepUnsyncedOnly)
        let folded = try store.head
        try await store.withLogWriter { log in
            let table = try #require(log.catalog.table(named: "Department"))
            try log.marks.forget(table.number, Department.ID("a").key)
            try log.marks.setOutboxFloor(0)
        }
        let forgotten = try store.head
        for number in 1...20 { try await name("c", "\(number)", isLocalOnly: true, in: store) }
        #expect(try await store.compact(.keepUnsyncedOnly).removed > 10)
        #expect(try store.kinds().contains("\(forgotten) forget"))
        // A run that was folded before does not raise the floor over it.
        try await store.withLogWriter {
            _ = try $0.marks.raiseOutboxFloor(from: 0, to: folded, looked: 0)
        }
        #expect(try store.read { try LogHorizon($0.reader).outboxFloor } == 0)
        #expect(try store.pushes().map(\.key.name.description) == ["a"])
        try await store.settle()
        try await name("c", "last", isLocalOnly: true, in: store)
        try await store.compact(.keepUnsyncedOnly)
        #expect(try !store.kinds().contains("\(forgotten) forget"))
        try await expectWhole(store)
    }

    // MARK: Space

    @Test func `a store with little in it takes less than a megabyte of the disk`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: StoreConfiguration())
        for number in 0..<20 { try await name("d\(number)", "\(number)", in: store) }
        var bytes = 0
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.store) {
            var status = stat()
            let code = stat(folder.store + "/" + file, &status)
            #expect(code == 0)
            bytes += Int(status.st_blocks) * 512
        }
        #expect(bytes <= 1 << 20)
        store.close()
    }

    @Test func `a report counts what waits in the journal`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: StoreConfiguration())
        for number in 0..<30 { try await name("d\(number)", "\(number)", in: store) }
        let report = try await store.compact(.keepAll)
        #expect(report.operationsBefore == 30)
        #expect(report.operationsAfter == 30)
        #expect(report.bytesBefore > 4_096)
        store.close()
    }
}
