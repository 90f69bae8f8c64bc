import BackstitchCore
import BackstitchLog
import LMDB

/// A projection that applies the operations of a commit as they are appended.
struct InlineProjection {
    let registered: RegisteredProjection
    var state: ProjectionState
    private let undo = ViewUndo()

    init(_ registered: RegisteredProjection, _ state: ProjectionState) {
        self.registered = registered
        self.state = state
    }

    /// Applies a change. If `apply` throws, the view stays as it was and stops.
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

extension ProjectedChange {
    /// Calls `body` with a change, unless it changed nothing.
    ///
    /// - Parameters:
    ///   - before: The packed fields before it; nil if there was no record.
    ///   - after: The packed fields after it; nil if there is none.
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
        try unsafe bytes.withUnsafeBytes { bytes in
            guard let fields = unsafe PackedFields(bytes) else { throw FieldError(.damaged) }
            try body(fields)
        }
    }
}
