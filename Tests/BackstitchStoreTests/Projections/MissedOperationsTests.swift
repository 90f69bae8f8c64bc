import Backstitch
import BackstitchCore
import BackstitchViews
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Views that are kept up in the transaction of a write, after programs without them wrote.
@Suite(.budgeted) struct MissedOperationsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func openIdle(_ projections: any RecordProjection...) throws -> Store {
        var configuration = StoreConfiguration.quick
        configuration.projections = projections
        configuration.worksInBackground = false
        return try folder.open(configuration: configuration)
    }

    private func save(_ numbers: Range<Int>, in store: Store, name: String = "n") async throws {
        try await store.write { transaction in
            for number in numbers {
                try transaction.save(
                    Employee(id: .init("e\(number)"), name: name, email: "\(number)@x"))
            }
        }
    }

    @Test func `a read has what others wrote, at the moment of its records`() async throws {
        let mirror = Mirror()
        let store = try openIdle(mirror)
        try await save(0..<10, in: store)
        let checkpoint = try #require(try store.status()?.checkpoint)
        let other = try folder.open()
        try await save(5..<20, in: other, name: "changed")
        try await other.write { _ = try $0.delete(Employee.ID("e0")) }
        try store.expect(mirror)
        #expect(try store.status()?.checkpoint == checkpoint)
        // So has a program that only reads the view, and one that takes what is stored.
        try other.expect(mirror)
        #expect(
            try store.read { try $0.view(of: mirror, allowsBehind: true).checkpoint } == checkpoint)
    }

    @Test func `a search finds at once what another program wrote`() async throws {
        let index = TextIndex("search", TextSource(Employee.self, \.name))
        let store = try openIdle(index)
        try await save(0..<3, in: store, name: "Ada")
        let other = try folder.open()
        try await save(1..<2, in: other, name: "Grace")
        try await save(7..<9, in: other, name: "Ada Grace")
        let found = try store.read { transaction in
            let view = try transaction.view(of: index)
            return try ["ada", "gr", "ada gr"].map { text in
                try view.records(TextQuery(text), of: Employee.self).map(\.id.key.name.description)
                    .sorted()
            }
        }
        #expect(found == [["e0", "e2", "e7", "e8"], ["e1", "e7", "e8"], ["e7", "e8"]])
    }

    @Test func `a write brings the view up to date before it begins`() async throws {
        let mirror = Mirror()
        let store = try openIdle(mirror)
        try await save(0..<10, in: store)
        let other = try folder.open()
        try await save(5..<20, in: other, name: "changed")
        let counts = try await store.write { transaction in
            let before = try transaction.view(of: mirror).count()
            try transaction.save(Employee(id: "new", name: "n", email: "new@x"))
            return [before, try transaction.view(of: mirror).count()]
        }
        #expect(counts == [20, 21])
        #expect(try store.status()?.state == .ready)
        try store.expect(mirror)
        // A write that changes nothing does it too.
        try await save(20..<22, in: other)
        try await store.write { _ in }
        #expect(try store.status()?.state == .ready)
        try store.expect(mirror)
    }

    @Test func `a write leaves more than one step of catching up to the background`() async throws {
        let mirror = Mirror()
        let store = try openIdle(mirror)
        let other = try folder.open()
        let count = CatchUpBudget().operations + 1
        try await save(0..<count, in: other)
        let seen = try await store.write { transaction in
            try transaction.save(Employee(id: "new", name: "n", email: "new@x"))
            return try transaction.view(of: mirror).count()
        }
        #expect(seen == count + 1)
        #expect(try store.status()?.checkpoint == 0)
        try store.expect(mirror)
        try await store.prepareProjections()
        #expect(try store.status()?.state == .ready)
        try store.expect(mirror)
    }

    @Test func `a read that had to take in too much says so`() async throws {
        let mirror = Mirror()
        let store = try openIdle(mirror)
        let other = try folder.open()
        let limit = CatchUpBudget.ofRead.operations
        try await save(0..<limit, in: other)
        #expect(try store.read { try $0.view(of: mirror).count() } == limit)
        try await save(limit..<limit + 1, in: other)
        let error = failure { try store.read { _ = try $0.view(of: mirror) } }
        #expect(error?.code == .projectionNotReady)
        #expect(error?.message.contains("prepareProjections") == true)
        try await store.prepareProjections()
        try store.expect(mirror)
    }

    @Test func `a change that can't be taken in fails the read, and in a write only the view`()
        async throws
    {
        let mirror = Mirror(refuses: { if $0 == 3 { throw Planned() } })
        let store = try openIdle(mirror)
        try await save(0..<1, in: store)
        let other = try folder.open()
        try await save(1..<4, in: other)
        let error = failure { try store.read { _ = try $0.view(of: mirror) } }
        #expect(error?.code == .projectionFailed)
        #expect(try store.status()?.state == .catchingUp)
        try await save(4..<5, in: store)
        #expect(try store.read { try $0.count(Employee.self) } == 5)
        #expect(try store.status()?.checkpoint == 2)
        let later = failure { try store.read { _ = try $0.view(of: mirror) } }
        #expect(later?.code == .projectionFailed)
    }

    @Test func `what is written comes before the view where space is short`() async throws {
        let mirror = Mirror()
        let store = try openIdle(mirror)
        try await save(0..<2, in: store)
        let checkpoint = try #require(try store.status()?.checkpoint)
        let other = try folder.open()
        try await save(2..<4, in: other)
        let attempts = Locked(0)
        store.setCommitFault {
            let attempt = attempts.withLock { count in
                count += 1
                return count
            }
            if attempt == 1 { throw LMDBError(.diskFull, "The disk is full.") }
        }
        try await save(4..<5, in: store)
        store.setCommitFault(nil)
        #expect(attempts.withLock { $0 } == 2)
        #expect(try store.status()?.checkpoint == checkpoint)
        try store.expect(mirror)
        try await save(5..<6, in: store)
        #expect(try store.status()?.state == .ready)
        try store.expect(mirror)
    }

    @Test func `a failure for want of space is told where the view is not to blame`() async throws {
        let store = try openIdle(Mirror())
        let attempts = Locked(0)
        store.setCommitFault {
            attempts.withLock { $0 += 1 }
            throw LMDBError(.diskFull, "The disk is full.")
        }
        await #expect(throws: StoreError.self) { try await save(0..<1, in: store) }
        #expect(attempts.withLock { $0 } == 1)
    }

    @Test(arguments: 0..<6)
    func `entries in memory over stored ones are one ordered map`(seed: Int) async throws {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 40)
        let keys = (0..<40).map { number -> [UInt8] in
            number % 7 == 0 ? [] : [UInt8(number % 5), UInt8(number)].dropLast(number % 2)
        }
        let steps = (0..<120).map { _ in
            (
                key: keys[Int.random(in: 0..<keys.count, using: &generator)],
                value: Int.random(in: 0..<3, using: &generator) == 0
                    ? nil : [UInt8](repeating: UInt8.random(in: 0...9, using: &generator), count: 3)
            )
        }
        let store = try openIdle()
        try await store.withLogWriter { context in
            let stored = ViewEntries(
                access: context.access, database: context.databases.meta, slot: 9)
            var model: [[UInt8]: [UInt8]] = [:]
            func put(_ value: [UInt8]?, for key: [UInt8], in entries: ViewEntries) throws {
                if let value {
                    try value.withUnsafeBytes { try entries.put($0, for: key) }
                } else {
                    try entries.delete(key)
                }
                model[key] = value
            }
            for step in steps.prefix(60) { try put(step.value, for: step.key, in: stored) }
            let before = model
            var entries = stored
            entries.overlay = ViewOverlay()
            for (number, step) in steps.dropFirst(60).enumerated() {
                try put(step.value, for: step.key, in: entries)
                guard number % 5 == 0 else { continue }
                let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                let lower = steps[number].key
                let upper = number % 2 == 0 ? nil : steps[number + 1].key
                let expected = sorted.filter { entry in
                    !entry.key.lexicographicallyPrecedes(lower)
                        && upper.map { entry.key.lexicographicallyPrecedes($0) } ?? true
                }
                for reversed in [false, true] {
                    var found: [[UInt8]] = []
                    try entries.visit(from: lower, to: upper, reversed: reversed) { key, value in
                        #expect(model[Array(key)] == Array(value))
                        found.append(Array(key))
                        return true
                    }
                    let wanted = expected.map(\.key)
                    #expect(found == (reversed ? wanted.reversed() : wanted))
                    var first: [UInt8]?
                    try entries.visit(from: lower, to: upper, reversed: reversed) { key, _ in
                        #expect(first == nil)
                        first = Array(key)
                        return false
                    }
                    #expect(first == (reversed ? wanted.last : wanted.first))
                }
                for key in keys {
                    #expect(try entries.get(key).map { Array($0) } == model[key])
                }
                #expect(try entries.count == model.count)
            }
            // The stored ones are as they were.
            #expect(try stored.count == before.count)
        }
    }

    @Test(arguments: 0..<4)
    func `a view is of the moment of its records while another program writes`(
        seed: Int
    ) async throws {
        let mirror = Mirror()
        let search = TextIndex("search", TextSource(Employee.self, \.name))
        var configuration = StoreConfiguration.quick
        configuration.projections = [mirror, search]
        let store = try folder.open(configuration: configuration)
        let other = try folder.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var generator = SeededGenerator(seed: UInt64(seed))
                for _ in 0..<60 {
                    let size = Int.random(in: 1...40, using: &generator)
                    let start = Int.random(in: 0..<100, using: &generator)
                    let name = Bool.random(using: &generator) ? "odd" : "even"
                    try await save(start..<start + size, in: other, name: name)
                    if Bool.random(using: &generator) {
                        try await other.write { _ = try $0.delete(Employee.ID("e\(start)")) }
                    }
                }
            }
            group.addTask {
                for number in 0..<60 {
                    try store.read { transaction in
                        let employees = try transaction.fetch(Employee.self)
                        let view = try transaction.view(of: mirror)
                        #expect(try view.count() == employees.count)
                        #expect(try view.checkpoint == transaction.lastSequence)
                        for employee in employees {
                            let key = ViewKey(.string("Employee"), .reference(employee.id.key))
                            let value = try view.value(for: key) ?? []
                            let text = String(decoding: value, as: UTF8.self)
                            #expect(text.contains("\"\(employee.name)\""))
                        }
                        let odd = try transaction.view(of: search).matches("odd", limit: .max)
                        #expect(
                            Set(odd.map(\.record))
                                == Set(employees.filter { $0.name == "odd" }.map(\.id.recordID)))
                    }
                    if number % 10 == 0 { try await save(200..<205, in: store, name: "odd") }
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        try await store.prepareProjections()
        try store.expect(mirror)
    }
}
