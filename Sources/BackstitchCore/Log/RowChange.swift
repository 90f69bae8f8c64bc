/// What an operation makes of its record's row.
///
/// The one place that decides it: the projector carries it out on the tables, and compaction on
/// rows that it folds from the log. So a baseline is what the projector would have made.
package enum RowChange: Equatable, Sendable {
    /// The row begins with this header and the fields that the operation carries.
    case begin(RowHeader)
    /// The operation's fields are laid over the row's.
    case update(RowHeader)
    /// The row loses its fields and stays as a tombstone.
    case bury(RowHeader)
    /// Only the header changes.
    case mark(RowHeader)
    /// The row is the one that the operation carries, header included.
    case restore
    /// The row goes.
    case end
    /// The operation does not concern the row.
    case nothing

    /// Decides what an operation makes of a row; nil stands for no row.
    package init(
        _ operation: OperationView, on row: RowHeader?
    ) throws(RowContradiction) {
        switch operation.kind {
        case .insert:
            if let row, !row.isDeleted { throw RowContradiction("inserts a record that exists") }
            self = .begin((row ?? RowHeader()).changed(by: operation))
        case .update:
            guard let row, !row.isDeleted else {
                throw RowContradiction("updates a record that does not exist")
            }
            self = .update(row.changed(by: operation))
        case .delete:
            guard let row, !row.isDeleted else {
                throw RowContradiction("deletes a record that does not exist")
            }
            var header = row.changed(by: operation)
            header.flags = .isDeleted
            let isEvicted = operation.origin == .localOnly && !header.changeTag.isEmpty
            if isEvicted { header.flags.insert(.isEvicted) }
            self = header.isDirty || isEvicted ? .bury(header) : .end
        case .acknowledge:
            guard let stamp = operation.stamp else {
                throw RowContradiction("acknowledges without a stamp")
            }
            guard let row else { throw RowContradiction("acknowledges a record without a row") }
            let header = row.acknowledged(stamp)
            self = header.isDeleted && !header.isDirty ? .end : .mark(header)
        case .park:
            guard var row else { throw RowContradiction("parks a record without a row") }
            row.flags.insert(.isParked)
            self = .mark(row)
        case .release:
            guard var row else { throw RowContradiction("releases a record without a row") }
            row.flags.remove(.isParked)
            self = .mark(row)
        case .forget:
            guard let row else { throw RowContradiction("forgets a record without a row") }
            self = .mark(row.forgotten)
        case .baseline:
            guard row == nil else { throw RowContradiction("is not the first of its record") }
            self = .restore
        case .journal:
            self = .nothing
        }
    }
}

/// How an operation does not fit the row that it finds: the log or the tables are damaged.
package struct RowContradiction: Error, Equatable, Sendable {
    /// What the operation does, to follow its name in a sentence.
    package let what: String

    init(_ what: String) { self.what = what }
}

extension RowHeader {
    /// The header after an operation that changes content.
    fileprivate func changed(by operation: OperationView) -> RowHeader {
        var header = self
        if flags.contains(.isEvicted) {
            // What begins here is no edit of the version that was evicted.
            header.changeTag = ""
            header.modifiedMilliseconds = 0
        }
        header.flags.remove(.contentMarks)
        if operation.flags.contains(.isUnreadable) { header.flags.insert(.isUnreadable) }
        header.lastSequence = operation.sequence
        if operation.origin == .localOnly { header.syncedSequence = operation.sequence }
        if let stamp = operation.stamp {
            header.syncedSequence = operation.sequence
            header.changeTag = stamp.changeTag
            header.modifiedMilliseconds = stamp.modifiedMilliseconds
        }
        return header
    }

    /// The header once the service has what a stamp says.
    fileprivate func acknowledged(_ stamp: SyncStamp) -> RowHeader {
        var header = self
        header.flags.remove(.isForgotten)
        header.syncedSequence = max(header.syncedSequence, stamp.acknowledgedThrough)
        header.changeTag = stamp.changeTag
        header.modifiedMilliseconds = stamp.modifiedMilliseconds
        if !header.isDirty { header.flags.remove(.isParked) }
        return header
    }

    /// The header once nothing counts that the service knew: the record is to be made there again.
    fileprivate var forgotten: RowHeader {
        var header = self
        if !header.isDirty { header.flags.insert(.isForgotten) }
        header.syncedSequence = 0
        header.changeTag = ""
        header.modifiedMilliseconds = 0
        return header
    }
}
