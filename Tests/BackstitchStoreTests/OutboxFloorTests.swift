import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchSync
import TestBudget
import Testing

@testable import BackstitchStore

/// The place before which no operation is pending.
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
}
