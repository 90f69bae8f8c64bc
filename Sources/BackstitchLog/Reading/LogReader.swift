package import BackstitchCore
package import LMDB

/// Reads the log within one transaction, whose lifetime it must not outlive.
package struct LogReader {
    package let access: Access
    private let database: Database
    /// Operations after this sequence are not there yet at the moment that is read.
    package let lastVisible: UInt64

    /// - Parameter lastVisible: The last operation of the moment that is read; `UInt64.max` for now.
    init(access: Access, database: Database, lastVisible: UInt64) {
        self.access = access
        self.database = database
        self.lastVisible = lastVisible
    }

    /// The sequence of the last operation; 0 if there is none.
    package var head: UInt64 {
        get throws {
            guard lastVisible == .max else { return lastVisible }
            return try access.withCursor(in: database) { cursor in
                try unsafe cursor.last() ? cursor.key.sequence : 0
            }
        }
    }

    /// The flags of an operation; none if the log does not have it any more.
    package func flags(of sequence: UInt64) throws -> OperationHeader.Flags {
        try withOperation(sequence) { $0.flags } ?? []
    }

    /// Calls `body` with the operation at a sequence; nil if there is none.
    ///
    /// - Parameter verifies: Whether to compare the checksum. Who only follows links need not.
    package func withOperation<Result>(
        _ sequence: UInt64, verifies: Bool = true, _ body: (OperationView) throws -> Result
    ) throws -> Result? {
        guard sequence <= lastVisible else { return nil }
        let bytes = try unsafe TableKey.withSequence(sequence) {
            try unsafe access.get($0, in: database)
        }
        guard let bytes = unsafe bytes else { return nil }
        return try unsafe body(try OperationView(bytes, sequence: sequence, verifies: verifies))
    }

    /// Visits operations in sequence order from a sequence on.
    package func visit(from first: UInt64, _ visit: (OperationView) throws -> Bool) throws {
        try unsafe visitStored(from: first) { sequence, bytes in
            try unsafe visit(try OperationView(bytes, sequence: sequence))
        }
    }

    /// Gets the sequence and the bytes of an operation; returns whether to go on.
    package typealias StoredVisit = (UInt64, UnsafeRawBufferPointer) throws -> Bool

    /// Visits the bytes of operations, which may be damaged, in sequence order.
    package func visitStored(from first: UInt64, _ visit: StoredVisit) throws {
        try unsafe TableKey.withSequence(first) { start in
            _ = try unsafe StoredEntries.visit(
                access, in: database, from: start, to: nil, reversed: false
            ) { key, value in
                let sequence = unsafe key.sequence
                return try unsafe sequence <= lastVisible && visit(sequence, value)
            }
        }
    }

    /// Visits the bytes of operations, which may be damaged, from the last one back.
    package func visitStoredBackwards(_ visit: StoredVisit) throws {
        let first = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        _ = try unsafe StoredEntries.visit(
            access, in: database, from: first, to: nil, reversed: true
        ) { key, value in
            let sequence = unsafe key.sequence
            return try unsafe sequence > lastVisible || visit(sequence, value)
        }
    }

    /// The last operation from before a moment; 0 if there is none.
    ///
    /// - Parameters:
    ///   - milliseconds: The moment, since 1970.
    ///   - limit: The last operation that counts.
    /// - Complexity: O((log *n*)²), because clocks ascend with sequences.
    package func lastOperation(
        before milliseconds: Int64, through limit: UInt64
    ) throws -> UInt64 {
        var low: UInt64 = 0
        var high = limit
        while low < high {
            let middle = high - (high - low) / 2
            if try isOlder(firstFrom: middle, than: milliseconds) {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return low
    }

    /// Whether the first operation at or after a sequence is from before a moment.
    private func isOlder(firstFrom sequence: UInt64, than cutoff: Int64) throws -> Bool {
        var isOlder = false
        try visit(from: sequence) { operation in
            isOlder = LogicalClock.milliseconds(of: operation.clock) < cutoff
            return false
        }
        return isOlder
    }

    /// The number of operations, and the bytes that they take up: pages, and what waits in the journal.
    package func size(pageBytes: Int) throws -> (operations: Int, bytes: Int) {
        let statistics = try access.statistics(of: database)
        let pages = statistics.branchPages + statistics.leafPages + statistics.overflowPages
        let waiting = Statistics.waitingBytes(of: database, in: access)
        return (try access.count(of: database), pages * pageBytes + waiting)
    }
}

extension UnsafeRawBufferPointer {
    /// The sequence number stored in a log key, or 0 if the key is malformed.
    package var sequence: UInt64 {
        unsafe count == 8 ? UInt64(bigEndian: loadUnaligned(as: UInt64.self)) : 0
    }
}
