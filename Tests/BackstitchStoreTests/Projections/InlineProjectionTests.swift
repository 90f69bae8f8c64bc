import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct InlineProjectionTests {
    @Test func `a view is ready in a new store and has what each write saved`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        #expect(try store.status()?.state == .ready)
        try store.expect(mirror)
        try await store.write { transaction in
            try transaction.save(Department(id: "d", name: "One"))
            #expect(try transaction.view(of: mirror).texts().count == 1)
            #expect(try transaction.view(of: mirror).checkpoint == 1)
            try transaction.save(Department(id: "d", name: "Two", budget: 5))
            try transaction.save(Employee(id: "e", name: "Ada", email: "a@b", department: "d"))
        }
        try store.expect(mirror)
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        try store.expect(mirror)
        #expect(try store.read { try $0.view(of: mirror).count() } == 0)
        #expect(try store.status()?.state == .ready)
    }

    @Test func `a write that fails leaves no trace in a view, and those beside it do`() async throws
    {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try? await store.write { transaction in
                        try transaction.save(Department(id: .init("d\(number)"), name: "x"))
                        if number % 3 == 0 { throw Planned() }
                    }
                }
            }
        }
        try store.expect(mirror)
        #expect(try store.read { try $0.view(of: mirror).count() } == 26)
    }

    @Test func `a commit that fails leaves the view as it was`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await store.write { _ = try $0.save(Department(id: "a", name: "a")) }
        store.setCommitFault { throw Planned() }
        await #expect(throws: Planned.self) {
            try await store.write { _ = try $0.save(Department(id: "b", name: "b")) }
        }
        store.setCommitFault(nil)
        try store.expect(mirror)
        try await store.write { _ = try $0.save(Department(id: "b", name: "b")) }
        try store.expect(mirror)
    }

    @Test func `a projection that throws loses no save and stands still before the change`()
        async throws
    {
        let refused = Locked<UInt64>(2)
        let mirror = Mirror(refuses: { if $0 == refused.withLock({ $0 }) { throw Planned() } })
        let store = try Store.projecting(mirror)
        try await store.write { transaction in
            for name in ["a", "b", "c"] {
                try transaction.save(Department(id: .init(name), name: name))
            }
        }
        #expect(try store.read { try $0.count(Department.self) } == 3)
        let status = try #require(try store.status())
        #expect(status.checkpoint == 1)
        guard case .failed(let failure) = status.state else {
            Issue.record("\(status)")
            return
        }
        #expect(failure.sequence == 2)
        let error = failureOfRead(store, mirror)
        #expect(error?.code == .projectionFailed)
        #expect(error?.message.contains("'mirror'") == true)
        #expect(error?.message.contains("operation 2") == true)
        #expect(try store.read { try $0.view(of: mirror, allowsBehind: true).texts().count } == 1)
        #expect(try store.verify().problems == [])
        // Later writes go on without it, and it can be tried again.
        try await store.write { _ = try $0.save(Department(id: "d", name: "d")) }
        #expect(try store.status()?.checkpoint == 1)
        await #expect(throws: StoreError.self) { try await store.prepareProjections() }
        refused.withLock { $0 = 0 }
        try await store.prepareProjections()
        try store.expect(mirror)
        try await store.write { _ = try $0.save(Department(id: "e", name: "e")) }
        try store.expect(mirror)
    }

    private func failureOfRead(_ store: Store, _ mirror: Mirror) -> StoreError? {
        failure { try store.read { _ = try $0.view(of: mirror) } }
    }

    @Test func `what a throwing change wrote is taken back, entry by entry`() async throws {
        struct Scribbler: RecordProjection {
            let name = "scribbler"
            let entities = ProjectedEntities.all
            func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
                if change.sequence == 1 {
                    for number in 0..<5 as Range<Int64> {
                        try view.add(1, to: ViewKey(.int64(number)))
                    }
                    return
                }
                try view.delete(ViewKey(.int64(0)))
                try view.put([7], for: ViewKey(.int64(1)))
                try view.put([8], for: ViewKey(.int64(1)))
                try view.add(-1, to: ViewKey(.int64(2)))
                try view.put([9], for: ViewKey(.int64(9)))
                throw Planned()
            }
        }
        let store = try Store.projecting(Scribbler())
        try await store.write { _ = try $0.save(Department(id: "a", name: "a")) }
        let before = try store.read { try $0.view(of: Scribbler()).texts() }
        try await store.write { _ = try $0.save(Department(id: "b", name: "b")) }
        let after = try store.read { try $0.view(of: Scribbler(), allowsBehind: true).texts() }
        #expect(before == after && before.count == 5)
        #expect(try store.verify().problems == [])
    }

    @Test func `keys and values that are too long are told and lose nothing`() async throws {
        struct TooLong: RecordProjection {
            let name = "long"
            let entities = ProjectedEntities.all
            func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
                try view.put([], for: ViewKey(bytes: [UInt8](repeating: 1, count: 508)))
                try view.put([], for: ViewKey(bytes: [UInt8](repeating: 1, count: 509)))
            }
        }
        let store = try Store.projecting(TooLong())
        try await store.write { _ = try $0.save(Department(id: "a", name: "a")) }
        let error = failure { try store.read { _ = try $0.view(of: TooLong()) } }
        #expect(error?.code == .projectionFailed)
        #expect(error?.message.contains("508") == true)
    }

    @Test func `undo, redo, update by query, imports and reverts reach a view`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await store.write { transaction in
            for number in 0..<10 {
                try transaction.save(
                    Employee(id: .init("e\(number)"), name: "n", email: "\(number)@x", age: number))
            }
        }
        try await store.write { transaction in
            let old = Query<Employee>().where(#Predicate { $0.age ?? 0 > 5 })
            _ = try transaction.update(old, set: \.name, to: "old")
            _ = try transaction.delete(Employee.ID("e1"))
        }
        try store.expect(mirror)
        let transactions = try store.read { try $0.transactions(limit: 10) }
        let undo = try await store.undo(transaction: transactions[0].id)
        try store.expect(mirror)
        try await store.redo(undo)
        try store.expect(mirror)
        var lines: [UInt8] = []
        try store.export { lines.append(contentsOf: $0) }
        let other = try Store.projecting(mirror)
        var parts = [lines]
        let report = try await other.importRecords(from: { parts.popLast() })
        #expect(report.inserted > 5)
        try other.expect(mirror)
        _ = try await store.revertAll()
        try store.expect(mirror)
    }

    @Test func `what the service delivers, merges and erases reaches a view`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await store.pull("Department", "d", ["name": .string("theirs"), "new": .string("x")])
        try store.expect(mirror)
        try await store.write { _ = try $0.save(Department(id: "d", name: "mine", budget: 1)) }
        try await store.pull(
            "Department", "d", tag: "2", at: 2, policy: .clientWins,
            ["name": .string("theirs again"), "budget": .int64(9)])
        try store.expect(mirror)
        // An employee without its e-mail address can't be read as its type.
        try await store.pull("Employee", "e", ["name": .string("Ada")])
        try store.expect(mirror)
        try await store.withLogWriter { try ZoneLoss($0, in: 0).eraseRecords() }
        try store.expect(mirror)
        #expect(try store.read { try $0.view(of: mirror).count() } == 0)
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `a view has the records of the tables after any history`(seed: UInt64) async throws {
        let mirror = Mirror()
        let late = Mirror(name: "late", mode: .catchingUp)
        let history = try CompactionHistory(seed: seed, projections: [mirror, late])
        for _ in 0..<4 {
            try await history.run(5)
            try history.store.expect(mirror, "seed \(seed)")
        }
        try await history.settle()
        try await history.store.prepareProjections()
        try history.store.expect(mirror, "seed \(seed)")
        try history.store.expect(late, "seed \(seed)")
    }
}
