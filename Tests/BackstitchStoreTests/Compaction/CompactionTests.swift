import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchSync
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct CompactionTests {
    let store: Store
    let clock = ManualClock()

    init() throws {
        let clock = clock
        store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(clock: clock))
    }

    private func name(_ id: String, _ name: String) async throws {
        try await store.write { try $0.save(Department(id: .init(id), name: name)) }
    }

    private func remove(_ id: String) async throws {
        try await store.write { _ = try $0.delete(Department.ID(id)) }
    }

    /// Lets the service take all that waits in a zone.
    private func acknowledge(in slot: UInt8 = 0) async throws {
        try await store.withLogWriter { context in
            let folder = OutboxFolder(context.reader, zone: slot)
            for change in try folder.fold(recordsMax: .max).changes {
                try context.marks.acknowledge(
                    change.entity, change.key, through: change.through,
                    version: change.push == .delete
                        ? nil
                        : ServerVersion(
                            changeTag: "t\(context.head)",
                            modifiedMilliseconds: Int64(context.head)))
            }
            try context.marks.setOutboxFloor(context.head, in: slot)
        }
    }

    /// Saves a record of another zone.
    private func nameElsewhere(_ id: String) async throws {
        try await store.addZone()
        try await store.write { try $0.save(Department(id: .elsewhere(id), name: id)) }
    }

    /// Compacts the log of two records of which one was deleted, once the service has all of it.
    private func compactAfterDelete() async throws {
        try await name("a", "1")
        try await remove("a")
        try await name("b", "1")
        try await acknowledge()
        try await store.compact(.keepUnsyncedOnly)
        // The last operation stays, so that its sequence is not given again.
        #expect(try store.kinds() == ["3 baseline", "5 acknowledge"])
    }

    @Test func `a baseline stands where the last change of its record was`() async throws {
        try await name("a", "1")
        try await name("a", "2")
        try await acknowledge()
        try await name("b", "1")
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["2 baseline", "4 insert"])
        #expect(report.removed == 2)
        #expect(report.operationsBefore == 4)
        #expect(report.operationsAfter == 2)
        #expect(report.compactedThrough == 3)
        #expect(report.isComplete)
        #expect(try store.info().compactedThrough == 3)
        try await store.expectConsistent()
    }

    @Test func `a baseline keeps the author, the time and the transaction`() async throws {
        try await store.write(author: "ada") { transaction in
            try transaction.save(Department(id: "z", name: "z"))
            try transaction.save(Department(id: "a", name: "a"))
        }
        let before = try store.operations(limit: 9)
        try await acknowledge()
        try await name("b", "1")
        try await store.compact(.keepUnsyncedOnly)
        let baseline = try #require(try store.operations(from: 2, limit: 1).first)
        #expect(baseline.kind == .baseline)
        #expect(baseline.author == "ada")
        #expect(baseline.date == before[1].date)
        #expect(baseline.transaction == 1)
        #expect(baseline.record.name == "a")
    }

    @Test func `the history of a record begins at its baseline`() async throws {
        try await name("a", "1")
        try await name("a", "2")
        try await acknowledge()
        try await name("a", "3")
        try await store.compact(.keepUnsyncedOnly)
        let history = try store.operations(of: Department.ID("a").recordID)
        #expect(history.map(\.kind) == [.update, .baseline])
        #expect(history.last?.previous == 0)
        #expect(history.last?.changes.first?.after == .string("2"))
    }

    @Test func `a record that is deleted and settled leaves nothing`() async throws {
        try await compactAfterDelete()
        try await name("b", "2")
        try await acknowledge()
        try await name("b", "3")
        try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["6 baseline", "8 update"])
        try await store.expectConsistent()
    }

    /// A commit is delivered behind those of other processes, which may be compacted away by then.
    @Test func `operations that are gone just before another one are lost changes`() async throws {
        try await compactAfterDelete()
        let lost = try store.read { transaction in
            var lost: [ChangeSet] = []
            try LoggedChanges(transaction.reader).visit(from: 4, before: 5) { lost.append($0) }
            return lost
        }
        #expect(lost.map(\.sequences) == [4..<5])
        #expect(lost.allSatisfy { !$0.isComplete })
    }

    @Test func `the number of the last operation is not given again`() async throws {
        try await name("a", "1")
        try await acknowledge()
        let head = try store.head
        try await store.compact(through: .max)
        #expect(try store.head == head)
        try await name("a", "2")
        #expect(try store.head == head + 1)
        try await store.expectConsistent()
    }

    @Test func `a store that was never synced keeps everything`() async throws {
        try await name("a", "1")
        try await name("a", "2")
        let image = try store.image()
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.removed == 0)
        #expect(try store.image() == image)
    }

    @Test func `a policy that keeps all takes nothing`() async throws {
        try await name("a", "1")
        try await acknowledge()
        try await name("a", "2")
        let image = try store.image()
        try await store.compact(.keepAll)
        #expect(try store.image() == image)
    }

    @Test func `operations of the last days stay`() async throws {
        let day: Int64 = 86_400_000
        let start = clock.milliseconds
        for number in 0..<5 {
            clock.set(start + Int64(number) * day)
            try await name("a", "\(number)")
        }
        try await acknowledge()
        try await name("b", "b")
        try await store.compact(.keepUnsynced(days: 5))
        #expect(try store.info().compactedThrough == 0)
        // Those of days 0 and 1 are older than two days, and that of day 2 just is not.
        try await store.compact(.keepUnsynced(days: 2))
        #expect(try store.info().compactedThrough == 2)
        #expect(try store.kinds().first == "2 baseline")
        try await store.compact(.keepUnsynced(days: 0))
        #expect(try store.info().compactedThrough == 4)
        try await store.expectConsistent()
    }

    @Test(arguments: [-1, 36_501, Int.max, Int.min])
    func `an impossible number of days is refused`(days: Int) async throws {
        let policy = RetentionPolicy.keepUnsynced(days: days)
        let error = await #expect(throws: StoreError.self) { try await store.compact(policy) }
        #expect(error?.code == .invalidValue)
        #expect(error?.message.contains("0 to 36500 days") == true)
        let opening = failure {
            _ = try Store.inMemory(
                schema: .all, configuration: StoreConfiguration(retention: policy))
        }
        #expect(opening?.message.contains("0 to 36500 days") == true)
    }

    @Test func `operations of a parked record stay until it is settled`() async throws {
        try await name("a", "1")
        try await acknowledge()
        try await name("a", "2")
        try await store.withLogWriter { context in
            for change in try OutboxFolder(context.reader).fold(recordsMax: .max).changes {
                try context.marks.park(
                    change.entity, change.key, through: change.through, reason: "no")
            }
        }
        try await name("b", "1")
        try await acknowledge()
        let pushes = try store.read { try ParkedRecord.all($0.reader) }
        try await store.compact(.keepUnsyncedOnly)
        #expect(
            try store.kinds() == [
                "1 baseline", "3 update", "4 park", "5 baseline", "6 acknowledge",
            ])
        #expect(try store.read { try ParkedRecord.all($0.reader) } == pushes)
        try await store.withLogWriter { context in
            let key = Department.ID("a").key
            _ = try context.marks.release(try #require(context.catalog.tables.first).number, key)
        }
        #expect(
            try store.pushes().map(\.push)
                == [.update(Fields([(try nameField, .string("2"))]))])
        try await acknowledge()
        try await name("b", "2")
        try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["3 baseline", "5 baseline", "9 update"])
        try await store.expectConsistent()
    }

    private var nameField: FieldID {
        get throws {
            let table = try #require(store.catalogSnapshot.table(named: "Department"))
            return try #require(table.attribute(named: "name")).field
        }
    }

    @Test func `the conflict journal stays`() async throws {
        try await name("a", "local")
        try await store.withLogWriter { context in
            _ = try context.merge(
                ServiceRecord(
                    recordName: "a", recordType: "Department", changeTag: "t",
                    modifiedMilliseconds: 1, fields: ["name": .string("server")]),
                policy: .serverWins)
        }
        try await name("a", "later")
        try await acknowledge()
        try await name("b", "1")
        let conflicts = try store.read { try $0.conflicts(limit: 9) }
        #expect(conflicts.count == 1)
        try await store.compact(.keepUnsyncedOnly)
        #expect(try store.kinds() == ["2 journal", "3 baseline", "5 insert"])
        try await store.expectConsistent()
        #expect(try store.read { try $0.conflicts(limit: 9) } == conflicts)
        let journal = try #require(try store.operations(from: 2, limit: 1).first)
        #expect(journal.conflict == conflicts.first)
        #expect(journal.changes == [])
    }

    @Test func `a record that the service forgot is made again from its baseline`() async throws {
        try await name("a", "1")
        try await name("a", "2")
        try await remove("a")
        try await name("a", "3")
        try await acknowledge()
        try await name("b", "1")
        try await store.compact(.keepUnsyncedOnly)
        try await store.withLogWriter { try ZoneLoss($0, in: 0).forgetService() }
        #expect(
            try store.pushes().map(\.push)
                == [
                    .create(Fields([(try nameField, .string("3"))])),
                    .create(Fields([(try nameField, .string("1"))])),
                ])
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingOperations == 2)
        try await store.expectConsistent()
    }

    @Test func `what was made pending again is not lost behind the floor of another zone`()
        async throws
    {
        try await nameElsewhere("a")
        try await acknowledge(in: 2)
        try await name("b", "1")
        try await acknowledge()
        try await store.compact(.keepUnsyncedOnly)
        let folded = try store.head
        try await store.withLogWriter { log in
            let table = try #require(log.catalog.table(named: "Department"))
            try log.marks.forget(table.number, Department.ID.elsewhere("a").key)
            try log.marks.setOutboxFloor(0, in: 2)
        }
        let forgotten = try store.head
        for number in 2...9 { try await name("b", "\(number)") }
        try await acknowledge()
        try await name("b", "last")
        #expect(try await store.compact(.keepUnsyncedOnly).removed > 5)
        #expect(try store.kinds().contains("\(forgotten) forget"))
        // A run that was folded before does not raise the floor over it.
        try await store.withLogWriter {
            _ = try $0.marks.raiseOutboxFloor(from: 0, to: folded, looked: 0, in: 2)
        }
        let pending = try store.read {
            try OutboxFolder($0.reader, zone: 2).fold(recordsMax: .max).changes
        }
        #expect(pending.map(\.key) == [Department.ID.elsewhere("a").key])
        try await store.expectConsistent()
    }

    @Test func `a log of which most waits is compacted up to the least floor`() async throws {
        try await nameElsewhere("x")
        try await acknowledge(in: 2)
        for number in 0..<6 { try await nameElsewhere("y\(number)") }
        try await name("b", "1")
        try await acknowledge()
        #expect(try store.head == 10)
        #expect(try store.read { try LogHorizon($0.reader).limit() } == 2)
        try await acknowledge(in: 2)
        #expect(try store.read { try LogHorizon($0.reader).limit() } == 15)
    }

    @Test func `a cancelled compaction stops between two chunks`() async throws {
        for number in 0..<20 { try await name("a", "\(number)") }
        try await acknowledge()
        try await name("b", "1")
        let store = store
        let report = try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.compact(.keepUnsyncedOnly)
        }.value
        #expect(!report.isComplete)
        #expect(report.removed == 0)
        #expect(try await store.compact(.keepUnsyncedOnly).isComplete)
        try await store.expectConsistent()
    }

    @Test func `progress ends at the end`() async throws {
        for number in 0..<20 { try await name("a", "\(number)") }
        try await acknowledge()
        let told = Locked<[(done: Int, total: Int)]>([])
        try await store.compact(.keepUnsyncedOnly) { done, total in
            told.withLock { $0.append((done, total)) }
        }
        #expect(told.withLock { $0.map(\.done) } == [20])
        #expect(told.withLock { $0.map(\.total) } == [20])
    }
}
