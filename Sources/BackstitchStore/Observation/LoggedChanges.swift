import BackstitchCore
import BackstitchLog

/// What the writes of the log changed.
struct LoggedChanges {
    private let reader: TableReader

    init(_ reader: TableReader) {
        self.reader = reader
    }

    /// Visits what each write changed, in the order of the log.
    ///
    /// If operations were compacted away already, a change set stands for them that names no
    /// records and is not complete.
    func visit(
        from first: UInt64, before end: UInt64, _ visit: (ChangeSet) -> Void
    ) throws {
        var changes = ChangeSet()
        var transaction: UInt64 = 0
        var next = first
        func close() {
            guard !changes.sequences.isEmpty else { return }
            changes.name(by: reader.catalog)
            visit(changes)
            changes = ChangeSet()
        }
        try reader.log.visit(from: first) { operation in
            guard operation.sequence < end else { return false }
            let isKnown = operation.kind != .baseline && operation.kind != .journal
            if operation.sequence > next || !isKnown {
                close()
                visit(ChangeSet(lost: next..<operation.sequence + (isKnown ? 0 : 1)))
            }
            next = operation.sequence + 1
            guard isKnown else { return true }
            if operation.transaction != transaction {
                close()
                changes = ChangeSet(author: operation.author, context: operation.context)
                transaction = operation.transaction
            }
            changes.note(
                operation.kind, origin: operation.origin, entity: operation.entity,
                key: try operation.key, sequence: operation.sequence,
                isUnreadable: operation.flags.contains(.isUnreadable))
            return true
        }
        close()
        // The last ones may be gone too; without an end, the log's last operation is always there.
        if end < .max, next < end { visit(ChangeSet(lost: next..<end)) }
    }
}
