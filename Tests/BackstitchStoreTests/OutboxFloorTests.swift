import Backstitch
import BackstitchCore
import BackstitchLog
import TestBudget
import Testing

@testable import BackstitchStore
@testable import BackstitchSync

/// The place before which no operation of a zone is pending.
@Suite(.budgeted) struct OutboxFloorTests {
    @Test func `raising it looks at each operation once`() async throws {
        let store = try Store.inMemory(schema: .all)
        for id in ["a", "b", "c", "d"] {
            try await store.write { _ = try $0.save(Department(id: .init(id), name: id)) }
        }
        func raise(
            from start: UInt64, to sequence: UInt64, looked: UInt64
        ) async throws -> [UInt64] {
            try await store.withLogWriter { context in
                let marks = context.marks
                let last = try marks.raiseOutboxFloor(from: start, to: sequence, looked: looked)
                return [last, try LogHorizon(context.reader).outboxFloor]
            }
        }
        #expect(try await raise(from: 0, to: 1, looked: 0) == [4, 1])
        #expect(try await raise(from: 1, to: 2, looked: 4) == [4, 2])
        // Made pending again behind all that was looked at: operation 6, behind the parking.
        try await store.withLogWriter { context in
            let change = try OutboxFolder(context.reader).fold(recordsMax: 1).changes[0]
            #expect(
                try context.marks.park(
                    change.entity, change.key, through: change.through, reason: "no"))
            #expect(try context.marks.release(change.entity, change.key))
        }
        #expect(try await raise(from: 0, to: 3, looked: 4) == [5, 0])
        #expect(try await raise(from: 0, to: 3, looked: 5) == [5, 0])
        // A run before was not settled.
        #expect(try await raise(from: 3, to: 4, looked: 4) == [4, 0])
        // What was looked at is not looked at again.
        #expect(try await raise(from: 0, to: 3, looked: 6) == [6, 3])
    }

    // MARK: Several zones

    private static let slot: UInt8 = 2

    /// A store in which operation 2 is of another zone, and 1 and 3 of its own.
    private func storeOfTwoZones() async throws -> Store {
        let store = try Store.inMemory(schema: .all)
        try await store.addZone()
        let ids: [Department.ID] = ["a", .elsewhere("a"), "b"]
        for id in ids {
            try await store.write { _ = try $0.save(Department(id: id, name: "n")) }
        }
        return store
    }

    @Test func `a floor that a zone raised hides nothing of another zone`() async throws {
        let store = try await storeOfTwoZones()
        try await store.withLogWriter { context in
            let reader = context.reader
            #expect(try context.marks.raiseOutboxFloor(from: 0, to: 3, looked: 0) == 3)
            #expect(try OutboxFolder(reader).fold(recordsMax: 9).changes.isEmpty)
            let pending = try OutboxFolder(reader, zone: Self.slot).fold(recordsMax: 9)
            #expect(pending.changes.map(\.key) == [Department.ID.elsewhere("a").key])
            let horizon = LogHorizon(reader)
            #expect(try horizon.outboxFloor(in: 0) == 3)
            #expect(try horizon.outboxFloor(in: Self.slot) == 0)
            #expect(try horizon.outboxFloor == 0)
            try context.marks.setOutboxFloor(2, in: Self.slot)
            #expect(try horizon.outboxFloor == 2)
            let names = ["outbox.floor", "outbox.floor:02"]
            #expect(try names.map { try reader.meta.value($0)?.last } == [3, 2])
        }
    }

    @Test func `a fold has the operations of one zone and passes those of others`() async throws {
        let store = try await storeOfTwoZones()
        try store.read { transaction in
            let own = OutboxFolder(transaction.reader)
            let first = try own.fold(recordsMax: 1)
            #expect(first.changes.map(\.key) == [Department.ID("a").key])
            #expect(first.through == 2 && !first.isComplete)
            let second = try own.fold(recordsMax: 1, after: first.through)
            #expect(second.changes.map(\.key) == [Department.ID("b").key])
            #expect(second.through == 3 && second.isComplete)
            let other = try OutboxFolder(transaction.reader, zone: Self.slot).fold(recordsMax: 1)
            #expect(other.changes.map(\.key) == [Department.ID.elsewhere("a").key])
            #expect(other.through == 3 && other.isComplete)
        }
    }

    @Test func `what waits is listed zone by zone`() async throws {
        let store = try await storeOfTwoZones()
        try store.read { transaction throws in
            let folder = OutboxFolder(transaction.reader)
            #expect(try folder.pendingRecords(limit: 9).map(\.lastSequence) == [1, 3, 2])
            #expect(try folder.pendingRecords(limit: 2).map(\.lastSequence) == [1, 3])
            #expect(try folder.lastOperations() == [1, 2, 3])
        }
    }

    @Test func `a release moves back the floor of its record's zone alone`() async throws {
        let store = try await storeOfTwoZones()
        try await store.withLogWriter { context in
            let marks = context.marks
            let folder = OutboxFolder(context.reader, zone: Self.slot)
            let change = try #require(try folder.fold(recordsMax: 1).changes.first)
            #expect(
                try marks.park(change.entity, change.key, through: change.through, reason: "no"))
            for slot in [0, Self.slot] { try marks.setOutboxFloor(3, in: slot) }
            #expect(try marks.release(change.entity, change.key))
            let horizon = LogHorizon(context.reader)
            #expect(try horizon.outboxFloor(in: 0) == 3)
            #expect(try horizon.outboxFloor(in: Self.slot) == 0)
            // Operation 5 made one of the other zone pending again, which concerns that zone's floor alone.
            #expect(try marks.raiseOutboxFloor(from: 0, to: 4, looked: 4) == 5)
            #expect(
                try marks.raiseOutboxFloor(from: 0, to: 4, looked: 4, in: Self.slot) == 4)
            #expect(try horizon.outboxFloor(in: 0) == 4)
            #expect(try horizon.outboxFloor(in: Self.slot) == 0)
        }
    }
}
