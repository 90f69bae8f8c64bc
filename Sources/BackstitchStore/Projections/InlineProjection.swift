import BackstitchCore
import LMDB

/// A projection that takes in the operations of a commit as they are appended.
struct InlineProjection {
    let registered: RegisteredProjection
    var state: ProjectionState
    private let undo = ViewUndo()

    init(_ registered: RegisteredProjection, _ state: ProjectionState) {
        self.registered = registered
        self.state = state
    }

    /// Takes in a change. Where `apply` throws, the view stays as it was and stands still.
    ///
    /// - Throws: what LMDB does, which spoils the transaction.
    mutating func take(_ change: borrowing ProjectedChange, in reader: TableReader) throws {
        guard state.failure == nil, registered.wants(change.table) else { return }
        let entries = reader.entries(of: state)
        let editor = ViewEditor(entries, undo, reader.catalog)
        do {
            try registered.projection.apply(change, to: editor)
            undo.forget()
        } catch let error as LMDBError {
            throw error
        } catch {
            try undo.takeBack(in: entries)
            state.failure = ProjectionFailure(sequence: change.sequence, error)
        }
    }
}

extension WriteContext {
    /// Begins to take the operations of the commit into the inline projections that have all operations
    /// before, first of all those of other programs. The others catch up afterwards.
    ///
    /// - Parameter takesMissed: Whether operations of other programs are taken in.
    /// - Returns: whether any were.
    @discardableResult
    func begin(_ registered: RegisteredProjections, takesMissed: Bool = true) throws -> Bool {
        projections = registered
        var hasTaken = false
        for projection in registered.all where projection.isInline {
            guard var state = try? reader.projectionState(projection.name),
                state.version == projection.version, state.isComplete, state.failure == nil
            else { continue }
            if takesMissed, try takeMissed(into: &state, projection) { hasTaken = true }
            guard state.failure == nil, state.checkpoint == head, state.clock == clock else {
                continue
            }
            inlineProjections.append(InlineProjection(projection, state))
        }
        return hasTaken
    }

    /// Takes an operation that was applied to the tables into the inline projections.
    func project(_ operation: OperationView) throws {
        guard operation.kind.changesContent, let table = catalog.table(operation.entity),
            let types = projections?.types,
            inlineProjections.contains(where: { $0.registered.wants(table) })
        else { return }
        let row = try reader.row(operation.entity, keyBytes: operation.keyBytes)
        var before: [UInt8]?
        var after: [UInt8]?
        if operation.kind != .delete { after = row.map { Array($0.bodyBytes) } }
        switch operation.kind {
        case .update: before = try after?.overlaid(by: operation.before)
        case .delete: before = Array(try operation.before.bytes)
        default: break
        }
        let reader = reader
        try ProjectedChange.with(operation, before, after, table, types) { change in
            for index in inlineProjections.indices {
                try inlineProjections[index].take(change, in: reader)
            }
        }
    }

    /// Notes how far the inline projections are, in the transaction of what they took in.
    func noteInlineProjections() throws {
        for index in inlineProjections.indices {
            let old = inlineProjections[index].state
            if let failure = old.failure {
                guard failure.sequence > old.checkpoint + 1 else {
                    try put(old, of: inlineProjections[index].registered.name)
                    continue
                }
                inlineProjections[index].state.checkpoint = failure.sequence - 1
                inlineProjections[index].state.clock =
                    try reader.withOperation(failure.sequence - 1, \.clock) ?? 0
            } else {
                guard old.checkpoint != head else { continue }
                inlineProjections[index].state.checkpoint = head
                inlineProjections[index].state.clock = clock
            }
            try put(
                inlineProjections[index].state, of: inlineProjections[index].registered.name)
        }
        inlineProjections.removeAll { $0.state.failure != nil }
    }
}

extension ProjectedChange {
    /// Calls `body` with a change, unless it changed nothing.
    ///
    /// - Parameters:
    ///   - before: The packed fields before it; nil where there was no record.
    ///   - after: The packed fields after it; nil where there is none.
    static func with(
        _ operation: OperationView, _ before: [UInt8]?, _ after: [UInt8]?, _ table: EntityTable,
        _ types: TypeTable, _ body: (borrowing ProjectedChange) throws -> Void
    ) throws {
        guard before != after else { return }
        try withFields(before) { before in
            try withFields(after) { after in
                try body(
                    ProjectedChange(
                        operation, before: before, after: after, table: table, types: types))
            }
        }
    }

    private static func withFields(
        _ bytes: [UInt8]?, _ body: (PackedFields?) throws -> Void
    ) throws {
        guard let bytes else { return try body(nil) }
        try bytes.withUnsafeBytes { bytes in
            guard let fields = PackedFields(bytes) else { throw FieldError(.damaged) }
            try body(fields)
        }
    }
}
