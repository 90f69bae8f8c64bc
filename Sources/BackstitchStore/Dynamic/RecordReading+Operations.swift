public import BackstitchCore
import BackstitchLog
import LMDB

extension RecordReading where Self: ~Copyable {
    /// Reads operations in the order of the log.
    ///
    /// - Parameters:
    ///   - first: The sequence to begin at.
    ///   - limit: The most operations to read. They are held in memory: read a long log in parts.
    ///   - filter: Which operations count.
    /// - Throws: `damaged` if the first operation that was to be read is; otherwise the operations
    ///   before a damaged one are returned. `unknownEntity`, `invalidName`.
    public func operations(
        from first: UInt64 = 1, limit: Int, matching filter: LoggedOperation.Filter = .init()
    ) throws -> [LoggedOperation] {
        try unsafe OperationReader(reader: reader).operations(limit: limit, matching: filter) {
            try unsafe reader.log.visitStored(from: first, $0)
        }
    }

    /// Reads the last operations of the log, in its order.
    ///
    /// - Parameters:
    ///   - limit: The most operations to read.
    ///   - filter: Which operations count.
    /// - Throws: as ``operations(from:limit:matching:)``, seen from the end.
    public func lastOperations(
        limit: Int, matching filter: LoggedOperation.Filter = .init()
    ) throws -> [LoggedOperation] {
        try unsafe OperationReader(reader: reader).operations(limit: limit, matching: filter) {
            try unsafe reader.log.visitStoredBackwards($0)
        }.reversed()
    }

    /// Reads the history of a record: the operations that changed its content, newest first.
    ///
    /// Each operation names the previous one, so only these operations are read. For a record that
    /// is gone from the store, the log is searched for the last one.
    ///
    /// - Throws: `unknownEntity`, `invalidName`; `damaged` if an operation can't be read.
    public func operations(
        of record: RecordID, limit: Int = .max
    ) throws -> [LoggedOperation] {
        let filter = LoggedOperation.Filter(record: record)
        var operations: [LoggedOperation] = []
        let log = OperationReader(reader: reader)
        var sequence = try log.lastContentOperation(of: record.key, entity: record.entity, filter)
        while sequence > 0, operations.count < limit {
            let found = try StoreError.describingDamage(at: sequence) {
                try reader.log.withOperation(sequence) { try log.logged($0) }
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

extension ReadTransaction {
    /// Reads the operations of a part of the log that count, in its order.
    ///
    /// - Complexity: O(*n*) in the length of the part.
    package func operations(
        in sequences: Range<UInt64>, matching filter: LoggedOperation.Filter
    ) throws -> [LoggedOperation] {
        try unsafe OperationReader(reader: reader).operations(limit: .max, matching: filter) {
            visit in
            try unsafe reader.log.visitStored(from: sequences.lowerBound) { sequence, bytes in
                guard sequence < sequences.upperBound else { return false }
                return try unsafe visit(sequence, bytes)
            }
        }
    }
}

extension Store {
    /// Reads operations in the order of the log; as ``RecordReading/operations(from:limit:matching:)``.
    public func operations(
        from first: UInt64 = 1, limit: Int, matching filter: LoggedOperation.Filter = .init()
    ) throws -> [LoggedOperation] {
        try read { try $0.operations(from: first, limit: limit, matching: filter) }
    }

    /// Reads the history of a record, newest first; as ``RecordReading/operations(of:limit:)``.
    public func operations(of record: RecordID, limit: Int = .max) throws -> [LoggedOperation] {
        try read { try $0.operations(of: record, limit: limit) }
    }
}
