import TestBudget
import Testing

@testable import BackstitchCore

/// Every sequence of up to five operations, against a model that keeps whole states.
@Suite(.budgeted) struct RecordFoldTests {
    private static let one = FieldID(1)
    private static let two = FieldID(2)

    /// What an edit does to a state that it fits; nil where it does not fit.
    private static let edits: [@Sendable (Fields?) -> (OperationStep.Change, Fields?)?] = [
        { $0 == nil ? (.insert([one: .int64(10)]), [one: .int64(10)]) : nil },
        {
            let fields: Fields = [one: .int64(1), two: .int64(2)]
            return $0 == nil ? (.insert(fields), fields) : nil
        },
        { update($0, one, .int64(11)) },
        { update($0, one, .int64(1)) },
        { update($0, two, .null) },
        { update($0, two, .int64(2)) },
        { state in state.map { (.delete(before: $0), nil) } },
    ]

    private static func update(
        _ state: Fields?, _ field: FieldID, _ value: RecordValue
    ) -> (OperationStep.Change, Fields?)? {
        guard var fields = state, fields.value(field) != value else { return nil }
        let before: Fields = [field: fields.value(field)]
        fields[field] = value == .null ? nil : value
        return (.update(before: before, after: [field: value]), fields)
    }

    private static func expected(_ base: Fields?, _ final: Fields?) -> RecordFold.Push {
        switch (base, final) {
        case (nil, nil): return .nothing
        case (nil, .some(let final)): return .create(final)
        case (.some, nil): return .delete
        case (.some(let base), .some(let final)):
            var changed = Fields()
            for field in final.differences(from: base) { changed[field] = final.value(field) }
            return changed.isEmpty ? .nothing : .update(changed)
        }
    }

    @Test(arguments: [nil, [one: .int64(1), two: .int64(2)], [one: .int64(1)]] as [Fields?])
    func `the fold is what the two ends say`(base: Fields?) {
        var count = 0
        func visit(_ fold: RecordFold, _ state: Fields?, hasEnded: Bool, depth: Int) {
            for edit in Self.edits {
                guard let (change, next) = edit(state) else { continue }
                var longer = fold
                longer.add(OperationStep(sequence: UInt64(depth * 2), clock: 5, change: change))
                count += 1
                #expect(longer.push == Self.expected(base, next))
                #expect(longer.exists == (next != nil))
                #expect(longer.baseExists == (base != nil))
                let isAnew = base != nil && next != nil && hasEnded
                #expect(longer.isAnew == isAnew)
                #expect(longer.firstSequence == 2)
                #expect(longer.lastSequence == UInt64(depth * 2))
                guard depth < 5 else { continue }
                visit(longer, next, hasEnded: hasEnded || next == nil, depth: depth + 1)
            }
        }
        visit(RecordFold(), base, hasEnded: false, depth: 1)
        #expect(count > 200)
    }

    @Test func `an empty fold pushes nothing`() {
        #expect(RecordFold().push == .nothing)
        #expect(RecordFold().lastSequence == 0)
    }
}
