/// What can be kept of a record whose operations or row were damaged.
///
/// A pure decision from the operations that are intact, in order, and the row where that is intact:
/// which operations stay, what row stands in for those that can't, and how sure that is.
package struct RecordSalvage {
    /// How much of the record is left.
    package enum Fate: Hashable, Sendable {
        /// Everything: all operations follow from one another.
        case whole
        /// The record as it was last; operations of its past are lost or set aside.
        case current
        /// The record does not exist any more; what is left of its past is set aside.
        case ended
        /// An older state, or one that lacks some changes.
        case older
        /// Nothing that makes a record.
        case lost
    }

    /// A row that takes the place of operations.
    package struct Baseline {
        package let sequence: UInt64
        package let row: FoldedRow
    }

    /// A row as the tables have it.
    package struct StoredRow {
        package let view: RowView
        /// The value of its entry among the parked records.
        package let parked: [UInt8]?
        /// Whether it is surely the last one, and no old copy.
        package let isCurrent: Bool

        package init(view: RowView, parked: [UInt8]?, isCurrent: Bool) {
            self.view = view
            self.parked = parked
            self.isCurrent = isCurrent
        }
    }

    package private(set) var fate = Fate.whole
    /// The operations that stay as they are, by their places.
    package private(set) var kept: [Int] = []
    /// What stands before those that stay.
    package private(set) var baseline: Baseline?
    /// The row that follows; nil if there is none.
    package private(set) var result: FoldedRow?
    /// Whether the service may know better, so that its version has to be taken again.
    package private(set) var isUncertain = false
    /// Whether unsynced changes can't be pushed any more, or only with the whole record.
    package private(set) var losesEdits = false

    private let operations: [OperationView]

    /// Decides for one record.
    ///
    /// - Parameters:
    ///   - operations: Those that are intact, in sequence order, without journals.
    ///   - row: Its row, if that is intact.
    ///   - areRowsWhole: Whether all rows are intact, so that a record without one has none.
    package init(operations: [OperationView], row: StoredRow?, areRowsWhole: Bool) {
        self.operations = operations
        // A baseline takes the place of what is before it.
        let start = operations.lastIndex { $0.kind == .baseline } ?? 0
        let places = Array(operations.indices[start...])
        if let folded = fold(places, onto: nil) {
            decide(places, folded, row, areRowsWhole: areRowsWhole)
        } else if let row, row.isCurrent || row.view.lastSequence >= lastContent {
            take(row)
        } else {
            gather(places, row)
        }
    }

    /// The last operation that changed content; 0 for none.
    private var lastContent: UInt64 {
        operations.last(where: { $0.kind.changesContent })?.sequence ?? 0
    }

    // MARK: All operations follow from one another

    private mutating func decide(
        _ places: [Int], _ folded: FoldedRow?, _ row: StoredRow?, areRowsWhole: Bool
    ) {
        guard let row else {
            if folded != nil, areRowsWhole {
                fate = .ended
                return
            }
            return keep(places, folded, isUncertain: folded != nil)
        }
        if let folded, folded.isSame(as: row.view) {
            return keep(places, folded, isUncertain: false)
        }
        let last = folded?.header.lastSequence ?? lastContent
        let isNewer = row.view.lastSequence > last || (row.isCurrent && folded != nil)
        if isNewer, row.view.lastSequence >= last { return take(row) }
        keep(places, folded, isUncertain: true)
    }

    private mutating func keep(_ places: [Int], _ folded: FoldedRow?, isUncertain: Bool) {
        kept = places
        result = folded
        self.isUncertain = isUncertain && folded != nil
    }

    // MARK: The row tells

    private mutating func take(_ row: StoredRow) {
        fate = .current
        isUncertain = !row.isCurrent
        let stored = FoldedRow(row.view, parked: row.parked)
        result = stored
        replace(by: stored)
    }

    /// Puts a row in the place of all operations that need not stay.
    private mutating func replace(by row: FoldedRow) {
        guard row.header.isDirty else {
            baseline = Baseline(sequence: row.header.lastSequence, row: row)
            return
        }
        let unsynced = unsyncedPlaces(of: row)
        if keep(unsynced, endingWith: row) { return }
        losesEdits = true
        // A delete says all by itself.
        if let last = unsynced.last(where: { operations[$0].kind.changesContent }),
            operations[last].kind == .delete, keep([last], endingWith: row)
        {
            return
        }
        baseline = Baseline(sequence: row.header.lastSequence, row: row)
    }

    private func unsyncedPlaces(of row: FoldedRow) -> [Int] {
        operations.indices.filter { place in
            let operation = operations[place]
            return operation.kind == .park
                ? operation.sequence > row.header.lastSequence
                : operation.kind.changesContent && operation.sequence > row.header.syncedSequence
        }
    }

    /// Keeps unsynced operations one by one on a row from before them, so that they can be pushed as
    /// what they are.
    ///
    /// - Returns: whether they make the row that they are to end with.
    private mutating func keep(_ places: [Int], endingWith row: FoldedRow) -> Bool {
        guard let first = places.first, operations[first].kind != .baseline,
            var before = undo(places, from: row)
        else { return false }
        var row = row
        if var start = before, start.header.isDirty {
            losesEdits = true
            // A delete of what passes for new would not be pushed at all.
            if row.header.isDeleted, !row.header.changeTag.isEmpty {
                start.header.syncedSequence = start.header.lastSequence
                row.header.syncedSequence = start.header.lastSequence
                before = start
            }
        }
        guard fold(places, onto: before) == .some(row) else { return false }
        kept = places
        result = row
        baseline = before.map { Baseline(sequence: $0.header.lastSequence, row: $0) }
        return true
    }

    /// The row before some operations; `.some(nil)` if there was none, nil if it can't be told.
    private func undo(_ places: [Int], from stored: FoldedRow) -> FoldedRow?? {
        var fields = stored.fields
        for place in places.reversed() where operations[place].kind.changesContent {
            guard let step = try? OperationStep(operations[place]) else { return nil }
            fields = step.change.undone(from: fields)
        }
        let previous = operations[places[0]].previous
        guard previous > 0, let fields else {
            return previous == 0 && fields == nil ? .some(nil) : nil
        }
        var header = stored.header
        header.flags = []
        header.lastSequence = previous
        guard let body = fields.packed else { return nil }
        return FoldedRow(header: header, body: body)
    }

    // MARK: Neither is whole

    /// Lays what is left over one another: later operations over earlier ones, whatever is missing
    /// between them.
    private mutating func gather(_ places: [Int], _ row: StoredRow?) {
        var folder = RowFolder()
        var state: FoldedRow?
        var missesFields = false
        var unused = row
        for place in places where operations[place].kind != .journal {
            let operation = operations[place]
            if let row = unused, row.view.lastSequence < operation.sequence {
                if row.view.lastSequence >= state?.header.lastSequence ?? 0 {
                    state = FoldedRow(row.view, parked: row.parked)
                }
                unused = nil
            }
            if operation.kind == .insert || operation.kind == .baseline { state = nil }
            if operation.kind == .delete, state == nil {
                state = unsafe FoldedRow(
                    header: RowHeader(lastSequence: operation.previous),
                    body: Array(operation.afterBytes))
            }
            do {
                try folder.apply(operation, to: &state)
            } catch {
                if operation.kind == .update { missesFields = true }
            }
        }
        guard var row = state else {
            fate = missesFields ? .lost : .ended
            losesEdits = missesFields
            return
        }
        fate = .older
        isUncertain = true
        row.unpark()
        result = row
        replace(by: row)
    }

    // MARK: Folding

    /// The row after operations that follow from one another; nil if they don't.
    private func fold(_ places: [Int], onto start: FoldedRow?) -> FoldedRow?? {
        var folder = RowFolder()
        var row = start
        for place in places {
            let operation = operations[place]
            guard operation.previous == row?.header.lastSequence ?? 0 else { return nil }
            do { try folder.apply(operation, to: &row) } catch { return nil }
        }
        return .some(row)
    }
}
