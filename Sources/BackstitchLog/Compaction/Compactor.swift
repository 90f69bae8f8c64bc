import BackstitchCore
import LMDB

/// Puts baselines in the place of operations that are not needed any more.
package struct Compactor: ~Copyable {
    private let log: LogWriter
    /// Called before operations up to a sequence are replaced.
    private let willReplace: (UInt64) throws -> Void
    private var buffer = ByteBuffer(capacity: 4096)

    package init(_ log: LogWriter, willReplace: @escaping (UInt64) throws -> Void) {
        self.log = log
        self.willReplace = willReplace
    }

    /// Compacts the next chunk of a run, in the running transaction.
    ///
    /// For every record of the chunk a baseline takes the place of its last operation that changed
    /// content, and the others go. Operations with a conflict report leave it behind. The tables do
    /// not change, for they are what the log gives afterwards too; only contents of files that nothing
    /// in the log names any more are no longer noted.
    package mutating func compact(_ run: inout CompactionRun, budget: CompactionBudget) throws {
        guard !run.isDone else { return }
        let chunk = try CompactionChunk(log.reader, run, budget: budget)
        try willReplace(chunk.end)
        for record in chunk.records {
            if let first = record.firstKept { run.keep(record.place, from: first) }
            try replace(record, &run)
        }
        run.visited += chunk.visited
        run.next = chunk.end + 1
        let stored = try LogHorizon(log.reader).compaction
        let bounds = run.bounds(after: chunk.end, stored)
        if bounds != stored { try log.setMeta(MetaName.compaction, bounds.bytes) }
    }

    private mutating func replace(_ record: CompactionChunk.Record, _ run: inout CompactionRun)
        throws
    {
        let namesContents = record.entries.contains(where: \.namesContents)
        for entry in record.entries {
            let before = namesContents ? try contents(at: entry.sequence) : []
            if let row = record.row, row.header.lastSequence == entry.sequence {
                try putBaseline(row, at: entry.sequence)
            } else if entry.hasConflict {
                try put(.journal, at: entry.sequence, flags: []) { _ in }
            } else {
                _ = try unsafe TableKey.withSequence(entry.sequence) { key in
                    try unsafe log.access.delete(key, in: log.databases.log)
                }
                run.removed += 1
            }
            if namesContents { try noteContents(at: entry.sequence, before: before) }
        }
    }

    /// The contents of files that the operation at a sequence names; none if there is no operation.
    private func contents(at sequence: UInt64) throws -> Set<ContentKey> {
        try log.reader.log.withOperation(sequence, verifies: false) { $0.contents } ?? []
    }

    /// Brings the notes of an operation's contents up to date.
    ///
    /// - Parameter before: What the operation named that was in its place.
    private func noteContents(at sequence: UInt64, before: Set<ContentKey>) throws {
        let after = try contents(at: sequence)
        try log.withProjector { projector in
            try projector.deleteContents(before.subtracting(after), of: sequence)
            guard !after.isSubset(of: before) else { return }
            _ = try log.reader.log.withOperation(sequence, verifies: false) {
                try projector.putContents(of: $0)
            }
        }
    }

    private mutating func putBaseline(_ row: FoldedRow, at sequence: UInt64) throws {
        let isUnreadable = row.header.flags.contains(.isUnreadable)
        try put(.baseline, at: sequence, flags: isUnreadable ? .isUnreadable : []) { output in
            row.append(to: &output)
        }
    }

    /// Puts an operation in the place of another one, unless it stands there already.
    private mutating func put(
        _ kind: OperationKind, at sequence: UInt64, flags: OperationHeader.Flags,
        payload: (inout ByteBuffer) -> Void
    ) throws {
        try unsafe TableKey.withSequence(sequence) { key in
            guard let stored = try unsafe log.access.get(key, in: log.databases.log) else {
                preconditionFailure("A chunk replaces operations that it has read.")
            }
            let old = try unsafe OperationView(stored, sequence: sequence, verifies: false)
            buffer.removeAll()
            OperationEncoder.begin(kind, inPlaceOf: old, flags: flags, into: &buffer)
            payload(&buffer)
            OperationEncoder.end(sequence: sequence, into: &buffer)
            guard unsafe !buffer.bytes.holdsSameBytes(as: stored) else { return }
            try unsafe log.access.put(key, buffer.bytes, in: log.databases.log)
        }
    }
}
