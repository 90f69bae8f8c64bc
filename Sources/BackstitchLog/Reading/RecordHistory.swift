package import BackstitchCore
import LMDB

/// The operations of one record that changed its content, linked from the last one back: walked,
/// folded and undone.
///
/// Reads the log anew with each call; the cost is a look-up for each operation walked. Must not
/// outlive the transaction of its reader.
package struct RecordHistory {
    private let reader: TableReader
    /// The last operation of the record; 0 for a record without any.
    private let lastSequence: UInt64
    /// The last operation that the service has; 0 if it has none.
    private let syncedSequence: UInt64

    package init(_ reader: TableReader, lastSequence: UInt64, syncedSequence: UInt64 = 0) {
        self.reader = reader
        self.lastSequence = lastSequence
        self.syncedSequence = syncedSequence
    }

    // MARK: Walking

    /// The operations after a sequence, oldest first.
    ///
    /// A baseline counts as an insert; that of a tombstone stands for nothing.
    package func steps(after sequence: UInt64) throws -> [OperationStep] {
        var steps: [OperationStep] = []
        var next = lastSequence
        while next > sequence {
            let previous = try reader.log.withOperation(next) { operation -> UInt64 in
                if !operation.isTombstone { steps.append(try OperationStep(operation)) }
                return operation.previous
            }
            guard let previous else { throw Self.missing(next) }
            next = previous
        }
        return steps.reversed()
    }

    /// Visits what ``steps(after:)`` has, one operation after another until the closure returns
    /// false: only their sequences are held in memory, and one of them.
    package func visitSteps(
        after sequence: UInt64, _ visit: (OperationStep) throws -> Bool
    ) throws {
        var sequences: [UInt64] = []
        try visitSequences(after: sequence) { sequences.append($0) }
        while let sequence = sequences.popLast() {
            let step = try reader.log.withOperation(sequence) { try OperationStep($0) }
            guard let step, try visit(step) else { return }
        }
    }

    /// Visits the sequences of the operations after a sequence, newest first.
    package func visitSequences(
        after sequence: UInt64, _ visit: (UInt64) throws -> Void
    ) throws {
        var next = lastSequence
        while next > sequence {
            // Only links are followed: who needs the values compares the checksums.
            let link = try reader.log.withOperation(next, verifies: false) { operation in
                (previous: operation.previous, isTombstone: operation.isTombstone)
            }
            guard let link else { throw Self.missing(next) }
            guard link.previous < next else {
                throw StoreError(
                    .damaged,
                    "Operation \(next) follows operation \(link.previous). Run verify.")
            }
            if !link.isTombstone { try visit(next) }
            next = link.previous
        }
    }

    /// Whether the last operation has lost its values.
    package var endsErased: Bool {
        get throws {
            try reader.log.flags(of: lastSequence).contains(.isErased)
        }
    }

    // MARK: What the service does not have

    /// The operations that the service does not have, oldest first.
    package var unsynced: [OperationStep] {
        get throws { try steps(after: syncedSequence) }
    }

    /// The number of operations that the service does not have.
    package var unsyncedCount: Int {
        get throws {
            var count = 0
            try visitSequences(after: syncedSequence) { _ in count += 1 }
            return count
        }
    }

    /// The sequence of the first operation that the service does not have; nil if it has all.
    package var firstUnsynced: UInt64? {
        get throws {
            var first: UInt64?
            try visitSequences(after: syncedSequence) { first = $0 }
            return first
        }
    }

    /// Whether an operation is one of the record's that the service does not have yet.
    package func isPending(_ sequence: UInt64) throws -> Bool {
        guard syncedSequence < sequence else { return false }
        var found = lastSequence
        while found > sequence { found = try reader.log.withOperation(found, \.previous) ?? 0 }
        return found == sequence
    }

    /// Whether an operation from after the last one that the service has is of the record's present
    /// life.
    ///
    /// A record that was never synced may be in a later life: operations of a life that ended
    /// before it began are not its own.
    package func isOfThisLife(_ sequence: UInt64) throws -> Bool {
        guard sequence > syncedSequence else { return false }
        guard syncedSequence == 0 else { return true }
        var first = lastSequence
        while first > sequence,
            let previous = try reader.log.withOperation(first, \.previous), previous > 0
        {
            first = previous
        }
        return first <= sequence
    }

    // MARK: Folding and undoing

    /// The fields after the last operation, folded from the first one; nil if the record ended.
    package var folded: Fields? {
        get throws { try steps(after: 0).reduce(nil) { $1.change.applied(to: $0) } }
    }

    /// The fields as an operation left them, undone from what they are now.
    ///
    /// - Parameter now: The record's fields after its last operation; nil if it does not exist.
    /// - Returns: Nil if the record did not exist then.
    package func fields(after sequence: UInt64, undoneFrom now: Fields?) throws -> Fields? {
        try steps(after: sequence).reversed().reduce(now) { $1.change.undone(from: $0) }
    }

    /// What the service has in the fields that changed on this device alone since its version came.
    ///
    /// If the record began as one that stays on this device, the first edit brought all that it was
    /// then. Meant for records of which the service has a version.
    package var keptFields: Fields {
        get throws {
            var kept = Fields()
            var keptSinceEdit = Fields()
            var beganHere = false
            var pushed: Set<FieldID> = []
            var sequence = syncedSequence
            while sequence > 0 {
                let previous = try reader.log.withOperation(sequence) { operation -> UInt64 in
                    // The service's version ends it, unless it is an edit of this device without the
                    // files that were to follow.
                    let isVersion =
                        operation.origin == .remote && operation.stamp?.acknowledgedThrough == 0
                    guard operation.kind == .update, !isVersion else {
                        beganHere = operation.kind == .insert && operation.origin == .localOnly
                        return 0
                    }
                    guard case .update(let before, let after) = try OperationStep(operation).change
                    else { return 0 }
                    if operation.origin == .localOnly {
                        // The oldest says what was there before.
                        for field in after.ids where !pushed.contains(field) {
                            kept[field] = before.value(field)
                        }
                    } else {
                        pushed.formUnion(after.ids)
                        keptSinceEdit = kept
                    }
                    return operation.previous
                }
                sequence = previous ?? 0
            }
            return beganHere ? keptSinceEdit : kept
        }
    }

    private static func missing(_ sequence: UInt64) -> StoreError {
        StoreError(.damaged, "Operation \(sequence) is missing in the log. Run verify.")
    }
}

extension TableReader {
    /// The history of the record that a row is of.
    package func history(of row: RowView) -> RecordHistory {
        RecordHistory(self, lastSequence: row.lastSequence, syncedSequence: row.syncedSequence)
    }
}

extension RowView {
    /// The fields of the record; nil for a tombstone.
    package var currentFields: Fields? {
        get throws { isDeleted ? nil : try fields.map { try Fields($0) } }
    }
}

/// What a record is on both ends of its unsynced operations; nil if it does not exist.
package struct UnsyncedEnds {
    package let base: Fields?
    package let local: Fields?
    /// The first unsynced operation; 0 if there is none.
    package let firstSequence: UInt64

    package init(_ reader: TableReader, of row: RowView) throws {
        local = try row.currentFields
        let steps = try reader.history(of: row).unsynced
        base = steps.reversed().reduce(local) { $1.change.undone(from: $0) }?.withoutNulls
        firstSequence = steps.first?.sequence ?? 0
    }
}
