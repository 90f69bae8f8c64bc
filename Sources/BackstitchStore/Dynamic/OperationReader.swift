import BackstitchCore
import BackstitchLog
import LMDB

/// Reads the log for people: operations decoded, with the names that the catalog has.
struct OperationReader {
    let reader: TableReader

    func operations(
        limit: Int, matching filter: LoggedOperation.Filter,
        walk: (LogReader.StoredVisit) throws -> Void
    ) throws -> [LoggedOperation] {
        guard limit > 0 else { return [] }
        let filter = try StoredOperationFilter(filter, reader)
        var operations: [LoggedOperation] = []
        try unsafe walk { sequence, bytes in
            do {
                try StoreError.describingDamage(at: sequence) {
                    let view = try unsafe OperationView(bytes, sequence: sequence)
                    guard filter.matches(view) else { return }
                    operations.append(try logged(view))
                }
            } catch {
                if operations.isEmpty || error.isCancellation { throw error }
                return false
            }
            return operations.count < limit
        }
        return operations
    }

    /// Decodes an operation, with the context of its transaction; that of a damaged one is left out.
    func logged(_ view: OperationView) throws -> LoggedOperation {
        try LoggedOperation(view, context: context(of: view), catalog: reader.catalog)
    }

    private func context(of view: OperationView) throws -> String {
        guard view.sequence != view.transaction else { return view.context }
        do {
            return try reader.log.withOperation(view.transaction, \.context) ?? ""
        } catch {
            if error.isCancellation { throw error }
            return ""
        }
    }

    /// The sequence of the last operation that changed a record; 0 if there is none.
    func lastContentOperation(
        of key: RecordKey, entity: String, _ filter: LoggedOperation.Filter
    ) throws -> UInt64 {
        let stored = try StoredOperationFilter(filter, reader)
        if let row = try reader.row(try reader.table(named: entity).number, key) {
            return row.lastSequence
        }
        var last: UInt64 = 0
        try unsafe reader.log.visitStoredBackwards { sequence, bytes in
            try StoreError.describingDamage(at: sequence) {
                let view = try unsafe OperationView(bytes, sequence: sequence)
                if view.kind.changesContent, stored.matches(view) { last = sequence }
            }
            return last == 0
        }
        return last
    }
}

extension Error {
    /// Whether the task of a read was cancelled.
    fileprivate var isCancellation: Bool {
        self is CancellationError || (self as? LMDBError)?.code == .cancelled
    }
}
