import TestBudget
import Testing

@testable import BackstitchCore

/// Whether a version that the service has is from before what a device has, if it lost its latest ones.
@Suite(.budgeted) struct EarlierStateTests {
    private static let field = FieldID(1)

    private static func fields(_ value: Int64) -> Fields {
        var fields = Fields()
        fields[field] = .int64(value)
        return fields
    }

    /// A record that had these values one after another.
    private static func record(_ states: [(value: Int64, origin: OperationOrigin, isNew: Bool)])
        -> LocalState
    {
        var steps: [OperationStep] = []
        var before: Fields?
        for (index, state) in states.enumerated() {
            let after = fields(state.value)
            steps.append(
                OperationStep(
                    sequence: UInt64(index + 1),
                    change: before.map { .update(before: $0, after: after) } ?? .insert(after),
                    origin: state.origin, replacesLost: state.isNew))
            before = after
        }
        return LocalState(fields: before, version: nil, unsynced: steps)
    }

    private static func isEarlier(_ value: Int64, of local: LocalState) -> Bool {
        Merge(rules: MergeRules(.serverWins), knownFields: [field])
            .isEarlierState(fields(value), of: local)
    }

    @Test(arguments: [OperationOrigin.local, .remote])
    func `a state that others followed is earlier`(origin: OperationOrigin) {
        let local = Self.record([(1, .remote, false), (2, origin, false), (3, origin, false)])
        #expect((0...4).map { Self.isEarlier($0, of: local) } == [false, true, true, false, false])
    }

    @Test
    func `a state that the service lost before it had the next one is not known to be earlier`() {
        let local = Self.record([(1, .remote, false), (3, .remote, false), (2, .remote, true)])
        #expect((0...4).map { Self.isEarlier($0, of: local) } == Array(repeating: false, count: 5))
    }

    @Test func `what followed that is later than it, and not than what was before`() {
        let local = Self.record([
            (1, .remote, false), (3, .remote, false), (2, .remote, true), (4, .remote, false),
        ])
        #expect(
            (0...4).map { Self.isEarlier($0, of: local) } == [false, false, true, false, false])
    }

    @Test func `an edit of it is later than all`() {
        let local = Self.record([
            (1, .remote, false), (3, .remote, false), (2, .remote, true), (4, .local, false),
        ])
        #expect((0...4).map { Self.isEarlier($0, of: local) } == [false, true, true, true, false])
    }

    // What is pushed again is no edit of anybody.
    @Test func `a version that was sent again is not later than what was before`() {
        let local = Self.record([
            (1, .remote, false), (3, .remote, false), (2, .remote, true), (1, .remote, false),
            (2, .rebase, false),
        ])
        #expect(
            (0...4).map { Self.isEarlier($0, of: local) } == [false, true, false, false, false])
    }
}
