import Backstitch
import BackstitchCore
import BackstitchViews
import Threading
import TestBudget
import Testing
import LMDB

@testable import BackstitchStore

@Suite(.budgeted) struct CatchingUpTests {
    /// Saves employees with some updates and deletes.
    private func fill(_ store: Store, _ range: Range<Int>) async throws {
        try await store.write { transaction in
            for number in range {
                let id = Employee.ID("e\(number)")
                try transaction.save(Employee(id: id, name: "n", email: "\(number)@x"))
                try transaction.save(
                    Employee(id: id, name: "n\(number)", email: "\(number)@x", age: number % 7))
                if number % 5 == 0 { _ = try transaction.delete(id) }
            }
        }
    }

    @Test func `a projection that is added is built from the log in the background`() async throws {
        let folder = try TemporaryFolder()
        let plain = try folder.open()
        try await fill(plain, 0..<200)
        plain.close()
        let mirror = Mirror()
        let store = try folder.open(configuration: .projecting(mirror))
        try await store.prepareProjections()
        try store.expect(mirror)
        try await fill(store, 200..<210)
        try store.expect(mirror)
    }

    @Test func `a view goes on from its checkpoint after a write by a program without it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let mirror = Mirror()
        let store = try folder.open(configuration: .projecting(mirror))
        await store.stopProjections()
        try await fill(store, 0..<10)
        let checkpoint = try #require(try store.status()?.checkpoint)
        // Another handle, as another program would be: it does not know the projection.
        let other = try folder.open()
        try await fill(other, 5..<20)
        #expect(try store.status()?.state == .catchingUp)
        #expect(try store.status()?.checkpoint == checkpoint)
        #expect(
            try store.read { try $0.view(of: mirror, allowsBehind: true).checkpoint } == checkpoint)
        // A read takes the operations in for itself.
        try store.expect(mirror)
        #expect(try store.status()?.checkpoint == checkpoint)
        try await store.prepareProjections()
        try store.expect(mirror)
        try await fill(store, 22..<24)
        try store.expect(mirror)
    }

    @Test func `the background brings up what another program wrote`() async throws {
        let folder = try TemporaryFolder()
        let mirror = Mirror(mode: .catchingUp)
        let store = try folder.open(configuration: .projecting(mirror))
        let other = try folder.open()
        try await fill(other, 0..<30)
        let head = try other.head
        // Ends when the view is up.
        while try store.status()?.checkpoint != head { await Task.yield() }
        try store.expect(mirror)
    }

    @Test(arguments: [1, 2, 3, 7, 50])
    func `batches of any size give the same, also when each one's commit fails once`(
        size: Int
    ) async throws {
        let mirror = Mirror(mode: .catchingUp)
        let store = try Store.projecting(mirror)
        await store.stopProjections()
        try await fill(store, 0..<40)
        let registered = try #require(store.registered["mirror"])
        let folder = Locked(ChangeFolder())
        var budget = CatchUpBudget()
        budget.operations = size
        let fixed = budget
        var isFailing = true
        while true {
            if isFailing { store.setCommitFault { throw Planned() } }
            let step = try? await store.withWriteContext { context -> CatchUpStep in
                var used = folder.withLock { $0 }
                defer { folder.withLock { $0 = used } }
                return try context.projections.catchUp(
                    registered, &used, retries: false, budget: fixed)
            }
            store.setCommitFault(nil)
            #expect((step == nil) == isFailing)
            isFailing.toggle()
            if step == .done { break }
            if size > 2 { #expect(try store.verify().problems == []) }
        }
        try store.expect(mirror)
    }

    @Test func `an update is whole whatever was remembered of the record`() async throws {
        let mirror = Mirror(mode: .catchingUp)
        let store = try Store.projecting(mirror)
        await store.stopProjections()
        try await store.write { _ = try $0.save(Department(id: "d", name: "0")) }
        for number in 1...20 {
            try await store.write {
                _ = try $0.save(Department(id: "d", name: "\(number)", budget: number))
            }
        }
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        try await store.write { _ = try $0.save(Department(id: "d", name: "again")) }
        try await store.write { _ = try $0.save(Department(id: "d", name: "again", budget: 3)) }
        let registered = try #require(store.registered["mirror"])
        var budget = CatchUpBudget()
        budget.operations = 1
        let fixed = budget
        // A folder of its own for each operation remembers nothing.
        while try await store.withWriteContext({ context -> CatchUpStep in
            var folder = ChangeFolder()
            return try context.projections.catchUp(
                registered, &folder, retries: false, budget: fixed)
        }) != .done {}
        try store.expect(mirror)
    }

    @Test func `a change of the version builds the view anew, in a program that has it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let first = Mirror()
        let store = try folder.open(configuration: .projecting(first))
        try await fill(store, 0..<10)
        let second = Mirror(version: 3)
        let newer = try folder.open(configuration: .projecting(second))
        try await newer.prepareProjections()
        try newer.expect(second)
        #expect(try newer.status()?.version == 3)
        // The older program leaves it alone.
        #expect(try store.status()?.state == .otherVersion(3))
        #expect(
            failure { try store.read { _ = try $0.view(of: first) } }?.code == .projectionNotReady)
        await #expect(throws: StoreError.self) { try await store.prepareProjections() }
        try await fill(store, 10..<12)
        try await newer.prepareProjections()
        try newer.expect(second)
    }

    @Test func `a view is not read before it was complete`() async throws {
        let folder = try TemporaryFolder()
        let plain = try folder.open()
        try await fill(plain, 0..<3)
        let mirror = Mirror(mode: .catchingUp, refuses: { if $0 == 4 { throw Planned() } })
        #expect(
            failure { try plain.read { _ = try $0.view(of: mirror) } }?.code == .unknownProjection)
        let store = try folder.open(configuration: .projecting(mirror))
        await #expect(throws: StoreError.self) { try await store.prepareProjections() }
        for allows in [false, true] {
            let error = failure {
                try store.read { _ = try $0.view(of: mirror, allowsBehind: allows) }
            }
            #expect(error?.code == .projectionFailed)
        }
    }

    @Test func `a rebuild gives the same, and mends a damaged view that verify finds`() async throws
    {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await fill(store, 0..<30)
        let entries = try store.read { try $0.view(of: mirror).texts() }
        try await store.rebuildProjection(named: "mirror")
        #expect(try store.read { try $0.view(of: mirror).texts() } == entries)
        let damages: [@Sendable (ViewEntries) throws -> Void] = [
            { view in try [1, 2].withUnsafeBytes { try view.put($0, for: [1]) } },
            { view in _ = try view.clear(limit: 1) },
            { view in
                var first: [UInt8] = []
                try view.visit(from: [], to: nil) { key, _ in
                    first = Array(key)
                    return false
                }
                try [UInt8](repeating: 0, count: 3).withUnsafeBytes { try view.put($0, for: first) }
            },
        ]
        for damage in damages {
            try await store.withLogWriter { context in
                context.hasWrittenDirectly = true
                let state = try #require(try StoredProjections(context.reader).state("mirror"))
                try damage(context.reader.entries(of: state))
            }
            let problems = try store.verify().problems
            #expect(problems.count == 1)
            #expect(problems.first?.contains("'mirror'") == true)
            #expect(problems.first?.contains("rebuildProjection") == true)
            try await store.rebuildProjection(named: "mirror")
            try store.expect(mirror)
        }
        await #expect(throws: StoreError.self) {
            try await store.rebuildProjection(named: "other")
        }
    }

    @Test func `a projection that is gone is removed with its entries, and its place used again`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: .projecting(Mirror(), Mirror(name: "second")))
        try await fill(store, 0..<30)
        await #expect(throws: StoreError.self) { try await store.removeProjection(named: "mirror") }
        store.close()
        let plain = try folder.open()
        #expect(try plain.projections().map(\.isRegistered) == [false, false])
        #expect(try plain.info().projections.map(\.entries) == [24, 24])
        let size = try plain.content()["meta"]?.count ?? 0
        try await plain.removeProjection(named: "mirror")
        #expect(try plain.projections().map(\.name) == ["second"])
        // Its entries, its state and the checksum of that.
        #expect(try plain.content()["meta"]?.count == size - 26)
        await #expect(throws: StoreError.self) { try await plain.removeProjection(named: "mirror") }
        plain.close()
        let third = Mirror(name: "third")
        let again = try folder.open(configuration: .projecting(third))
        try await again.prepareProjections()
        try again.expect(third)
        #expect(try again.read { try StoredProjections($0.reader).state("third")?.slot } == 1)
    }

    @Test func `a view of a log that was cut off is built anew`() async throws {
        let folder = try TemporaryFolder()
        let mirror = Mirror()
        let store = try folder.open(configuration: .projecting(mirror))
        try await fill(store, 0..<10)
        store.close()
        // The last operations are lost with their rows, and others take their numbers.
        try folder.tamper { access, databases in
            try access.clearTables(databases)
            let last = try access.withCursor(in: databases.log) { cursor in
                try cursor.last() ? cursor.key.sequence : 0
            }
            for sequence in (last - 5)...last {
                _ = try TableKey.withSequence(sequence) {
                    try access.delete($0, in: databases.log)
                }
            }
        }
        let cut = try folder.open()
        _ = try await cut.rebuild()
        try await fill(cut, 100..<104)
        cut.close()
        let again = try folder.open(configuration: .projecting(mirror))
        try await again.prepareProjections()
        try again.expect(mirror)
    }

    @Test func `what is wrong with projections is told when the store is opened`() throws {
        let wrong = StoreConfiguration(projections: [
            Mirror(name: ""), Mirror(name: String(repeating: "x", count: 201)), Mirror(version: -1),
            Mirror(entities: .named("Nobody")),
        ])
        let error = failure { _ = try Store.inMemory(schema: .all, configuration: wrong) }
        #expect(error?.code == .invalidSchema)
        for part in ["has 0", "has 201", "version -1", "'Nobody'", "Two projections"] {
            #expect(error?.message.contains(part) == true, "\(part)")
        }
    }

    @Test func `a schema that reads records otherwise has the view built anew`() async throws {
        let folder = try TemporaryFolder()
        let before = GroupedTotals(counting: "moods", of: ExaminedOld.Item.self, by: \.mood)
        let old = try folder.open(
            StoreSchema(ExaminedOld.Item.self), configuration: .projecting(before))
        try await old.pull("Item", "case", ["title": .string("A"), "mood": .string("sad")])
        try await old.pull("Item", "none", ["mood": .string("glad")])
        try await old.pull("Item", "fine", ["title": .string("E")])
        #expect(try old.read { try $0.view(of: before).totals().map(\.count) } == [1])
        #expect(try old.verify().problems == [])
        old.close()
        let after = GroupedTotals(counting: "moods", of: ExaminedNew.Item.self, by: \.mood)
        let store = try folder.open(
            StoreSchema(ExaminedNew.Item.self), configuration: .projecting(after))
        try await store.prepareProjections()
        let totals = try store.read { try $0.view(of: after).totals() }
        #expect(totals.map(\.group) == [.glad, .sad])
        #expect(totals.map(\.count) == [2, 1])
        try await store.prepareIndexes()
        try await store.pull("Item", "case", tag: "2", at: 2, ["title": .string("B")])
        #expect(try store.read { try $0.view(of: after).totals().map(\.count) } == [3])
        #expect(try store.verify().problems == [])
    }

    @Test func `past states have no views`() async throws {
        let mirror = Mirror()
        let store = try Store.projecting(mirror)
        try await fill(store, 0..<2)
        let error = failure { try store.read(at: 1) { _ = try $0.view(of: mirror) } }
        #expect(error?.code == .invalidQuery)
    }
}

extension StoreConfiguration {
    static func projecting(_ projections: any RecordProjection...) -> StoreConfiguration {
        StoreConfiguration(durability: .relaxed, projections: projections)
    }
}
