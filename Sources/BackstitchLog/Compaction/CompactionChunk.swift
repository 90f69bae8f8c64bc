import BackstitchCore
import LMDB

/// A run of the log folded per record: what every record was at its end, and which of its operations
/// that replaces.
///
/// Only reads, so that views of the log stay valid meanwhile.
struct CompactionChunk: ~Copyable {
    /// An operation of the chunk.
    struct Entry {
        let sequence: UInt64
        let kind: OperationKind
        let hasConflict: Bool
        /// Whether the operation names contents of files, or may.
        let namesContents: Bool

        init(_ operation: OperationView) {
            namesContents = operation.mayNameContents
            sequence = operation.sequence
            kind = operation.kind
            hasConflict = unsafe operation.conflictBytes != nil
        }
    }

    /// A record that has operations in the chunk.
    struct Record {
        let place: StoredRecordID
        /// The operations that are replaced: the baseline from before the chunk, then those of the
        /// chunk.
        var entries: [Entry] = []
        /// The record after them; nil if it has no row.
        var row: FoldedRow?
        /// Operations that change content stay as they are from the first behind this sequence on,
        /// because sync may read them one by one. Nil if all may go.
        var synced: UInt64?
        /// The first operation that stays as it is; 0 if the record's operations stay from the
        /// beginning of the chunk.
        var firstKept: UInt64?
    }

    private(set) var records: [Record] = []
    /// The last operation that was looked at, or the end of the range if there are no more.
    private(set) var end: UInt64
    private(set) var visited = 0
    private var bytes = 0
    private var positions: [StoredRecordID: Int] = [:]
    private var folder = RowFolder()
    private let run: CompactionRun
    private let reader: TableReader
    private var maySync = true
    /// The floors of the outbox by the zones' slots, but for those at 0.
    private var outboxFloors: [UInt8: UInt64] = [:]

    /// Folds the next operations of a run, as many as the budget allows and at least one.
    init(_ reader: TableReader, _ run: CompactionRun, budget: CompactionBudget) throws {
        self.reader = reader
        self.run = run
        let (first, last) = (run.next, run.horizon)
        end = last
        let bounds = LogHorizon(reader)
        (maySync, outboxFloors) = (try bounds.maySync, try bounds.outboxFloors)
        try reader.access.withCursor(in: reader.databases.log) { cursor in
            var isThere = try unsafe TableKey.withSequence(first) {
                try unsafe cursor.seek(atOrAfter: $0)
            }
            while isThere {
                let sequence = unsafe cursor.key.sequence
                guard sequence <= last else { return }
                guard visited < budget.operations, bytes < budget.bytes else {
                    end = sequence - 1
                    return
                }
                try unsafe add(cursor.value, at: sequence)
                isThere = try cursor.next()
            }
        }
    }

    private mutating func add(_ stored: UnsafeRawBufferPointer, at sequence: UInt64) throws {
        visited += 1
        bytes += stored.count
        let operation = try StoreError.describingDamage(at: sequence) {
            try unsafe OperationView(stored, sequence: sequence)
        }
        guard operation.kind != .journal else { return }
        let position = try position(of: operation)
        guard !keeps(operation, ofRecordAt: position) else { return }
        records[position].entries.append(Entry(operation))
        try folder.fold(operation, into: &records[position].row)
        bytes += records[position].row?.body.count ?? 0
    }

    /// The place of an operation's record in ``records``, where it begins with its baseline.
    private mutating func position(of operation: OperationView) throws -> Int {
        let place = StoredRecordID(entity: operation.entity, key: try operation.key)
        if let known = positions[place] { return known }
        var record = Record(place: place)
        if run.keptRecords.contains(place) {
            record.firstKept = 0
        } else {
            let row = try reader.row(place.entity, place.key)
            // A record that no service ever had is pushed as a whole, if it ever is.
            if let row, row.isDirty, maySync || row.hasChangeTag {
                record.synced = row.syncedSequence
            }
            if operation.previous > 0 { try begin(&record, at: operation.previous) }
        }
        positions[place] = records.count
        records.append(record)
        return records.count - 1
    }

    private mutating func begin(_ record: inout Record, at previous: UInt64) throws {
        let found: Void? = try reader.log.withOperation(previous) { operation in
            // What an earlier run kept can't be folded without what is before it.
            guard operation.kind == .baseline, let baseline = operation.baseline
            else { return record.firstKept = 0 }
            record.entries = [Entry(operation)]
            record.row = FoldedRow(baseline)
            unsafe bytes += baseline.row.bytes.count
        }
        guard found != nil else {
            throw StoreError(
                .damaged, "Operation \(previous) is missing in the log. Run verify.")
        }
    }

    /// Whether an operation stays as it is: from the first that sync may need on, all of a record's
    /// do, wherever chunks begin and end.
    private mutating func keeps(
        _ operation: OperationView, ofRecordAt position: Int
    ) -> Bool {
        if let first = records[position].firstKept {
            if first == 0, operation.kind != .baseline {
                records[position].firstKept = operation.sequence
            }
            return true
        }
        // The floor of a zone must not rise over what was made pending again; these say that it was.
        if maySync, operation.kind == .release || operation.kind == .forget,
            operation.sequence > outboxFloors[operation.zone, default: 0]
        {
            records[position].firstKept = operation.sequence
            return true
        }
        // A baseline takes in what the service says of it, whether it is synced or not.
        guard let synced = records[position].synced, operation.kind.changesContent,
            operation.kind != .baseline, operation.sequence > synced
        else { return false }
        records[position].firstKept = operation.sequence
        return true
    }
}
