import TestBudget
import Testing

@testable import BackstitchCore

/// Undoing the fold of every pair of operations, by value.
@Suite(.budgeted) struct RecordFoldUndoTests {
    private static let one = FieldID(1)
    private static let two = FieldID(2)

    private func fold(_ changes: OperationStep.Change...) -> RecordFold {
        var fold = RecordFold()
        for (index, change) in changes.enumerated() {
            fold.add(OperationStep(sequence: UInt64(index + 1), change: change))
        }
        return fold
    }

    @Test func `an insert is undone where the record is as it was inserted`() {
        let fold = fold(.insert([Self.one: .int64(1)]))
        #expect(fold.undo(from: [Self.one: .int64(1)]) == .delete)
        #expect(fold.undo(from: [Self.one: .int64(1), Self.two: .null]) == .delete)
        #expect(fold.undo(from: [Self.one: .int64(2)]) == nil)
        #expect(fold.undo(from: [Self.one: .int64(1), Self.two: .int64(2)]) == nil)
        #expect(fold.undo(from: nil) == nil)
    }

    @Test func `a delete is undone where the record is still gone`() {
        let fold = fold(
            .update(before: [Self.one: .int64(1)], after: [Self.one: .int64(2)]),
            .delete(before: [Self.one: .int64(2), Self.two: .int64(5)]))
        #expect(fold.undo(from: nil) == .insert([Self.one: .int64(1), Self.two: .int64(5)]))
        #expect(fold.undo(from: [Self.one: .int64(1)]) == nil)
    }

    @Test func `an update gives back the fields that it changed`() {
        let fold = fold(
            .update(before: [Self.one: .null], after: [Self.one: .int64(1)]),
            .update(before: [Self.one: .int64(1)], after: [Self.one: .int64(2)]))
        #expect(
            fold.undo(from: [Self.one: .int64(2), Self.two: .int64(9)])
                == .update([Self.one: .null]))
        #expect(fold.undo(from: [Self.one: .int64(3)]) == nil)
        #expect(fold.undo(from: [:]) == nil)
        #expect(fold.undo(from: nil) == nil)
    }

    @Test func `what cancels out needs nothing`() {
        let passing = fold(.insert([Self.one: .int64(1)]), .delete(before: [Self.one: .int64(1)]))
        #expect(passing.undo(from: nil) == .nothing)
        #expect(passing.undo(from: [Self.one: .int64(7)]) == .nothing)
        let back = fold(
            .update(before: [Self.one: .int64(1)], after: [Self.one: .int64(2)]),
            .update(before: [Self.one: .int64(2)], after: [Self.one: .int64(1)]))
        #expect(back.undo(from: [Self.one: .int64(1)]) == .nothing)
    }

    @Test func `a record that was replaced is replaced again`() {
        let fold = fold(
            .delete(before: [Self.one: .int64(1), Self.two: .int64(2)]),
            .insert([Self.one: .int64(9)]))
        #expect(
            fold.undo(from: [Self.one: .int64(9)])
                == .update([Self.one: .int64(1), Self.two: .int64(2)]))
        #expect(fold.undo(from: [Self.one: .int64(9), Self.two: .int64(2)]) == nil)
    }
}
