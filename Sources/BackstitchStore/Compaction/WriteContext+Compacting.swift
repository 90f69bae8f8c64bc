import BackstitchCore
import LMDB

extension WriteContext {
    /// Compacts the next chunk of a run, in the running transaction.
    ///
    /// For every record of the chunk a baseline takes the place of its last operation that changed
    /// content, and the others go. Operations with a conflict report leave it behind. The tables do
    /// not change, for they are what the log gives afterwards too.
    func compact(_ run: inout CompactionRun, budget: CompactionBudget) throws {
        guard !run.isDone else { return }
        let chunk = try CompactionChunk(reader, run, budget: budget)
        try resetProjections(before: chunk.end)
        for record in chunk.records {
            if let first = record.firstKept { run.keep(record.place, from: first) }
            try replace(record, &run)
        }
        run.visited += chunk.visited
        run.next = chunk.end + 1
        let stored = try reader.compaction
        let bounds = run.bounds(after: chunk.end, stored)
        if bounds != stored { try setMeta(MetaName.compaction, bounds.bytes) }
    }

    private func replace(_ record: CompactionChunk.Record, _ run: inout CompactionRun) throws {
        for entry in record.entries {
            if let row = record.row, row.header.lastSequence == entry.sequence {
                try putBaseline(row, at: entry.sequence)
            } else if entry.hasConflict {
                try put(.journal, at: entry.sequence, flags: []) { _ in }
            } else {
                _ = try TableKey.withSequence(entry.sequence) { key in
                    try access.delete(key, in: databases.log)
                }
                run.removed += 1
            }
        }
    }

    private func putBaseline(_ row: FoldedRow, at sequence: UInt64) throws {
        let isUnreadable = row.header.flags.contains(.isUnreadable)
        try put(.baseline, at: sequence, flags: isUnreadable ? .isUnreadable : []) { output in
            row.append(to: &output)
        }
    }

    /// Puts an operation in the place of another one, unless it stands there already.
    private func put(
        _ kind: OperationKind, at sequence: UInt64, flags: OperationHeader.Flags,
        payload: (inout ByteBuffer) -> Void
    ) throws {
        try TableKey.withSequence(sequence) { key in
            guard let stored = try access.get(key, in: databases.log) else {
                preconditionFailure("A chunk replaces operations that it has read.")
            }
            let old = try OperationView(stored, sequence: sequence, verifies: false)
            compactionBuffer.removeAll()
            OperationEncoder.begin(kind, inPlaceOf: old, flags: flags, into: &compactionBuffer)
            payload(&compactionBuffer)
            OperationEncoder.end(sequence: sequence, into: &compactionBuffer)
            guard !compactionBuffer.bytes.holdsSameBytes(as: stored) else { return }
            try access.put(key, compactionBuffer.bytes, in: databases.log)
        }
    }
}
