import BackstitchCore
import LMDB

/// The operations of a record that carry values, and how far the log was looked through for them.
package struct RecordTraces: Sendable {
    package private(set) var sequences: [UInt64] = []
    /// Whether the log has any operation of the record.
    package private(set) var isKnown = false
    /// The last operation that was looked at.
    package private(set) var through: UInt64 = 0
    fileprivate let place: StoredRecordID
    private let keyBytes: [UInt8]

    package init(of place: StoredRecordID) {
        (self.place, keyBytes) = (place, place.key.bytes)
    }

    /// The last operation of the record that carries values; 0 if none does.
    package var last: UInt64 { sequences.last ?? 0 }

    /// Looks through the operations that come after those that were looked at.
    ///
    /// - Complexity: O(*n*) in these operations.
    package mutating func search(_ reader: TableReader) throws {
        var found = self
        try unsafe reader.log.visitStored(from: through + 1) { sequence, bytes in
            let operation = try StoreError.describingDamage(at: sequence) {
                try unsafe OperationView(bytes, sequence: sequence, verifies: false)
            }
            found.through = sequence
            guard operation.entity == place.entity,
                unsafe operation.keyBytes.holdsSameBytes(as: keyBytes)
            else { return true }
            found.isKnown = true
            if !operation.flags.contains(.isErased) { found.sequences.append(sequence) }
            return true
        }
        self = found
    }
}

/// Takes the values of a record, which has ended, out of what a store keeps of it.
package struct RecordEraser {
    private let log: LogWriter

    package init(_ log: LogWriter) { self.log = log }

    /// Takes the values out of the record's operations and out of the conflict journal.
    ///
    /// Each operation stays in its place, so that the log is as dense as before and a rebuild gives the
    /// same tables. It is marked as one without values.
    ///
    /// - Complexity: O(*n*) in the operations.
    package func erase(_ traces: RecordTraces) throws {
        for sequence in traces.sequences {
            try unsafe TableKey.withSequence(sequence) { key in
                guard let stored = try unsafe log.access.get(key, in: log.databases.log) else {
                    return
                }
                let old = try StoreError.describingDamage(at: sequence) {
                    try unsafe OperationView(stored, sequence: sequence)
                }
                if unsafe old.conflictBytes != nil { try forgetConflict(at: sequence) }
                // It says nothing but the report.
                guard old.kind != .journal else {
                    try forgetContents(of: old)
                    _ = try unsafe log.access.delete(key, in: log.databases.log)
                    return
                }
                var erased = ByteBuffer(capacity: 256)
                try OperationEncoder.append(erasing: old, to: &erased)
                try forgetContents(of: old)
                try unsafe log.access.put(key, erased.bytes, in: log.databases.log)
            }
        }
        try forgetParkReason(of: traces.place)
    }

    /// Takes the reason out of the entry of a parked record, whose operation has none any more.
    private func forgetParkReason(of place: StoredRecordID) throws {
        try unsafe TableKey.withRow(place.entity, place.key, table: TableKey.parked) { key in
            let tables = log.databases.tables
            guard let parked = try unsafe log.access.get(key, in: tables) else { return }
            let sequence = unsafe Array(parked.prefix(MemoryLayout<UInt64>.size))
            try unsafe sequence.withUnsafeBytes { try unsafe log.access.put(key, $0, in: tables) }
        }
    }

    /// Forgets which contents of files an operation named.
    private func forgetContents(of old: OperationView) throws {
        guard old.mayNameContents else { return }
        let contents = old.contents
        try log.withProjector { try $0.deleteContents(contents, of: old.sequence) }
    }

    /// Takes a report out of the conflict journal.
    private func forgetConflict(at sequence: UInt64) throws {
        try unsafe TableKey.withJournal(sequence) { key in
            let isThere = try unsafe log.access.delete(key, in: log.databases.tables)
            if isThere { try log.withProjector { unsafe $0.counting?.forgetConflict(at: key) } }
        }
    }
}

extension OutboxCounting {
    /// Takes in that a report was taken out of the conflict journal.
    fileprivate mutating func forgetConflict(at key: UnsafeRawBufferPointer) {
        if unsafe covers(key) { tally.conflicts -= 1 }
    }
}

extension OperationEncoder {
    /// Appends an operation that is what another one is, but for values, reasons and conflict reports.
    fileprivate static func append(
        erasing old: OperationView, to output: inout ByteBuffer
    ) throws {
        var flags: OperationHeader.Flags = .isErased
        // Without values a record can't be read as its type; one that ended has none.
        let leavesRecord =
            old.kind == .insert || old.kind == .update || old.kind == .baseline && !old.isTombstone
        if leavesRecord { flags.insert(.isUnreadable) }
        flags.formUnion(old.flags.intersection([.replacesLost, .isResent]))
        try begin(
            OperationHeader(
                kind: old.kind, origin: old.origin, flags: flags, entity: old.entity,
                transaction: old.transaction, clock: old.clock, previous: old.previous,
                key: old.key, author: old.author, context: old.context), stamp: old.stamp,
            into: &output)
        var writer = _FieldWriter()
        switch old.kind {
        case .insert, .delete: writer.finish(into: &output)
        case .update:
            let at = output.count
            output.append(little: UInt32(0))
            writer.finish(into: &output)
            output.store(little: UInt32(output.count - at - 4), at: at)
            writer.finish(into: &output)
        case .baseline:
            guard let baseline = old.baseline else { throw OperationDamage.fields }
            var row = FoldedRow(baseline)
            row.erase()
            row.append(to: &output)
        case .acknowledge, .park, .release, .forget, .journal: break
        }
        end(sequence: old.sequence, into: &output)
    }
}
