public import BackstitchCore
import BackstitchLog
import LMDB

extension ReadTransaction {
    /// Reads operations in the order of the log.
    ///
    /// - Parameters:
    ///   - first: The sequence to begin at.
    ///   - limit: The most operations to read. They are held in memory: read a long log in parts.
    ///   - filter: Which operations count.
    /// - Throws: `damaged` if the first operation that was to be read is; otherwise the
    ///   operations in front of a damaged one are returned. `unknownEntity`, `invalidName`.
    public func operations(
        from first: UInt64 = 1, limit: Int, matching filter: OperationFilter = .init()
    ) throws -> [LoggedOperation] {
        try reader.operations(limit: limit, matching: filter) { visit in
            try reader.visitStoredOperations(from: first, visit)
        }
    }

    /// Reads the last operations of the log, in its order.
    ///
    /// - Parameters:
    ///   - limit: The most operations to read.
    ///   - filter: Which operations count.
    /// - Throws: as ``operations(from:limit:matching:)``, seen from the end.
    public func lastOperations(
        limit: Int, matching filter: OperationFilter = .init()
    ) throws -> [LoggedOperation] {
        try reader.operations(limit: limit, matching: filter) { visit in
            try reader.visitStoredOperationsBackwards(visit)
        }.reversed()
    }

    /// Reads the history of a record: the operations that changed its content, newest first.
    ///
    /// Each names the one before, so that the cost is that of the operations themselves. Only for a
    /// record that is gone from the store the log is searched for the last one.
    ///
    /// - Throws: `unknownEntity`, `invalidName`; `damaged` if an operation can't be read.
    public func operations(
        of key: RecordKey, entity: String, limit: Int = .max
    ) throws -> [LoggedOperation] {
        let filter = OperationFilter(entity: entity, record: key)
        var operations: [LoggedOperation] = []
        var sequence = try reader.lastContentOperation(of: key, entity: entity, filter)
        while sequence > 0, operations.count < limit {
            let found = try reader.withDescribedDamage(at: sequence) {
                try reader.withOperation(sequence) { view in
                    try reader.logged(view)
                }
            }
            guard let found, found.previous < sequence else {
                throw StoreError(
                    .damaged,
                    "Operation \(sequence) of the log is missing or out of order. Run verify.")
            }
            operations.append(found)
            sequence = found.previous
        }
        return operations
    }
}

extension Store {
    /// Reads operations in the order of the log; as ``ReadTransaction/operations(from:limit:matching:)``.
    public func operations(
        from first: UInt64 = 1, limit: Int, matching filter: OperationFilter = .init()
    ) throws -> [LoggedOperation] {
        try read { try $0.operations(from: first, limit: limit, matching: filter) }
    }

    /// Reads the history of a record, newest first; as ``ReadTransaction/operations(of:entity:limit:)``.
    public func operations(
        of key: RecordKey, entity: String, limit: Int = .max
    ) throws -> [LoggedOperation] {
        try read { try $0.operations(of: key, entity: entity, limit: limit) }
    }
}

extension TableReader {
    typealias OperationVisit = (UInt64, UnsafeRawBufferPointer) throws -> Bool

    func operations(
        limit: Int, matching filter: OperationFilter, walk: (OperationVisit) throws -> Void
    ) throws -> [LoggedOperation] {
        guard limit > 0 else { return [] }
        let filter = try StoredOperationFilter(filter, self)
        var operations: [LoggedOperation] = []
        try walk { sequence, bytes in
            do {
                try withDescribedDamage(at: sequence) {
                    let view = try OperationView(bytes, sequence: sequence)
                    guard filter.matches(view) else { return }
                    operations.append(try logged(view))
                }
            } catch {
                if operations.isEmpty { throw error }
                return false
            }
            return operations.count < limit
        }
        return operations
    }

    /// Decodes an operation, with the context of its transaction; that of a damaged one is left out.
    func logged(_ view: OperationView) throws -> LoggedOperation {
        let context =
            view.sequence == view.transaction
            ? view.context : (try? withOperation(view.transaction, \.context)) ?? ""
        return try LoggedOperation(view, context: context, catalog: catalog)
    }

    /// Says of which operation something is wrong.
    func withDescribedDamage<Result>(
        at sequence: UInt64, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as OperationDamage {
            throw StoreError(
                .damaged, "Operation \(sequence) of the log can't be read: \(error). Run verify.")
        } catch let error as FieldError {
            throw StoreError(
                .damaged, "Operation \(sequence) of the log can't be read: of a field, \(error).")
        }
    }

    /// Visits the bytes of operations, which may be damaged, from the last one back.
    func visitStoredOperationsBackwards(_ visit: OperationVisit) throws {
        try access.withCursor(in: databases.log) { cursor in
            var isThere = try cursor.last()
            while isThere {
                let sequence = cursor.key.sequence
                if sequence <= lastVisible {
                    guard try visit(sequence, cursor.value) else { return }
                }
                isThere = try cursor.previous()
            }
        }
    }

    /// The sequence of the last operation that changed a record; 0 if there is none.
    func lastContentOperation(
        of key: RecordKey, entity: String, _ filter: OperationFilter
    ) throws -> UInt64 {
        let stored = try StoredOperationFilter(filter, self)
        if let row = try row(try table(named: entity).number, key) { return row.lastSequence }
        var last: UInt64 = 0
        try visitStoredOperationsBackwards { sequence, bytes in
            try withDescribedDamage(at: sequence) {
                let view = try OperationView(bytes, sequence: sequence)
                if view.kind.changesContent, stored.matches(view) { last = sequence }
            }
            return last == 0
        }
        return last
    }
}
