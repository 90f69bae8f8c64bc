public import BackstitchCore
public import Foundation

/// An operation of the log, decoded, without Swift types.
public struct LoggedOperation: Hashable, Sendable {
    /// The change of one attribute by an operation.
    public struct Change: Hashable, Sendable {
        /// The attribute's name.
        public let attribute: String
        /// The value before the operation, or nil if the field had none.
        public let before: RecordValue?
        /// The value after the operation, or nil if the field has none.
        public let after: RecordValue?
    }

    /// The operation's place in the log, from 1 on.
    public let sequence: UInt64
    /// The effect on its record.
    public let kind: OperationKind
    /// Where it comes from.
    public let origin: OperationOrigin
    /// The author that the write named; empty if it named none.
    public let author: String
    /// The context that the write gave; empty if it gave none, or if compaction removed the
    /// transaction's first operation, which carries it.
    public let context: String
    /// The sequence of the first operation of the same transaction.
    public let transaction: UInt64
    /// The time of the operation's clock, which is never earlier than that of the previous
    /// operation.
    public let date: Date
    /// The record.
    public let record: RecordID
    /// The sequence of the record's operation before this one that changed content; 0 for none. A
    /// baseline has none: what was before it was compacted.
    public let previous: UInt64
    /// The changes, in the order of the catalog: all attributes of an insert, a baseline or a
    /// delete; the changed ones of an update.
    public let changes: [Change]
    /// The change tag that the service gave, for operations that come from it.
    public let changeTag: String?
    /// The sequence up to which the service has the record's operations, for acknowledgements.
    public let acknowledgedThrough: UInt64?
    /// Why the record was parked, for `park`.
    public let parkReason: String?
    /// The conflict that the operation settled; nil if it settled none.
    public let conflict: RecordConflict?
}

extension LoggedOperation {
    init(_ view: OperationView, context: String, catalog: CatalogSnapshot) throws {
        let table = catalog.table(view.entity)
        sequence = view.sequence
        kind = view.kind
        origin = view.origin
        author = view.author
        self.context = context
        transaction = view.transaction
        date = Date(milliseconds: LogicalClock.milliseconds(of: view.clock))
        let key = try view.key
        record = RecordID(
            entity: table?.name ?? "entity \(view.entity.rawValue)", key: key)
        previous = view.previous
        changes = try Self.changes(of: view, table)
        let stamp = view.stamp
        changeTag = stamp.flatMap { $0.changeTag.isEmpty ? nil : $0.changeTag }
        acknowledgedThrough = stamp.flatMap {
            $0.acknowledgedThrough == 0 ? nil : $0.acknowledgedThrough
        }
        parkReason = view.kind == .park ? view.parkReason : nil
        conflict = try unsafe view.conflictBytes.map { bytes in
            unsafe RecordConflict(
                try ConflictReport(reading: bytes), sequence: view.sequence, clock: view.clock,
                table: table, entity: view.entity, key: key)
        }
    }

    private static func changes(of view: OperationView, _ table: EntityTable?) throws -> [Change] {
        var before = Fields()
        var after = Fields()
        switch view.kind {
        case .insert: after = try Fields(view.after)
        case .baseline: if !view.isTombstone { after = try Fields(view.after) }
        case .update: (before, after) = (try Fields(view.before), try Fields(view.after))
        case .delete: before = try Fields(view.before)
        case .acknowledge, .park, .release, .forget, .journal: return []
        }
        return Set(before.ids).union(after.ids).sorted().map { field in
            let sides = [before, after].map { $0.value(field) == .null ? nil : $0.value(field) }
            return Change(
                attribute: table?.attributeName(field) ?? "field \(field.rawValue)",
                before: sides[0], after: sides[1])
        }
    }
}
