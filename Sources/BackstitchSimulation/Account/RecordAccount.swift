package import BackstitchCore

/// What a log says of a record.
package struct RecordAccount {
    package var entity: EntityNumber
    package var recordName: String
    /// The fields after each operation that changed content, and its clock.
    var states: [(sequence: UInt64, fields: Fields?, clock: UInt64)] = []
    var synced: UInt64 = 0
    package var changeTag = ""
    /// The tag of the last version that the service was known to have, also once that is forgotten.
    var lastTag = ""
    package var isParked = false
    /// Whether its last operation says that the service took a push, or has it already.
    var isConfirmed = false
    /// Whether there is a row: the record exists, or its end is not synced.
    var isThere = false
    /// How often a row began; a version of an earlier one says nothing of the last.
    var lives = 0
    /// The operations that wait for the service.
    var waiting: [UInt64] = []
    /// The fields that local-only operations changed since the service last told them, by the
    /// operations that changed which they are.
    var keeping: [(sequence: UInt64, fields: Set<FieldID>)] = []
    /// Whether the record was taken off this device.
    var isEvicted = false
    /// What the next operation, a rebase in the same transaction, has to bring back.
    var owed: Owed?

    package var fields: Fields? { states.last?.fields }
    package var lastSequence: UInt64 { states.last?.sequence ?? 0 }
    package var isDirty: Bool { isThere && lastSequence > synced }
    /// Whether the service is still to make the record, for the first time or anew after a delete here.
    var isToBeMade: Bool {
        guard isDirty, fields != nil else { return false }
        return changeTag.isEmpty || states.contains { $0.sequence > synced && $0.fields == nil }
    }
    /// Whether it began here to stay.
    var staysHere: Bool { changeTag.isEmpty && !kept.isEmpty }

    /// The fields that are kept from the service now.
    var kept: Set<FieldID> { keeping.last?.fields ?? [] }

    func kept(at sequence: UInt64) -> Set<FieldID> {
        keeping.last { $0.sequence <= sequence }?.fields ?? []
    }

    /// Whether the log lost which fields were kept, because it was compacted.
    func hidesKept(inLogFrom first: UInt64) -> Bool {
        keeping.contains { $0.sequence < first && !$0.fields.isEmpty }
    }

    /// Whether the log lost which fields were kept at a sequence, because it was compacted.
    func hidesKept(at sequence: UInt64, inLogFrom first: UInt64) -> Bool {
        guard let last = keeping.last(where: { $0.sequence <= sequence }) else { return false }
        return last.sequence < first && !last.fields.isEmpty
    }

    func fields(at sequence: UInt64) -> Fields? {
        states.last { $0.sequence <= sequence }?.fields
    }

    /// The version that the service delivered at a sequence, with what operations changed
    /// before it since a base. If that is known, a field that has its value again is as it was.
    /// If it is not, what the operations took away counts only in fields that are declared:
    /// others are the service's.
    func rebased(
        at sequence: UInt64, base: UInt64, _ operations: [UInt64], _ table: EntityTable
    ) -> Fields? {
        guard let local = fields(at: sequence - 1) else { return nil }
        guard var result = fields(at: sequence) else { return local }
        let start = base > 0 ? fields(at: base) : nil
        var changed = Set(
            local.differences(from: start ?? Fields()).filter {
                !WireForm.areSame($0, local, start ?? Fields(), table)
            })
        // What was there before a delete has no part in what begins anew.
        let lives = start == nil ? operations.split { fields(at: $0) == nil } : []
        for operation in lives.last ?? [] {
            let (before, after) = (fields(at: operation - 1), fields(at: operation))
            let fields = (after ?? Fields()).differences(from: before ?? Fields())
            changed.formUnion(
                fields.filter {
                    table.declaredFields.contains($0) || local.value($0) != .null
                })
        }
        for field in changed { result[field] = local.value(field) }
        return result
    }

    /// With the references that a create leaves out until their targets are there, if the service's
    /// version is such a create.
    func closingCircles(
        _ fields: Fields?, at operation: OperationView, _ table: EntityTable
    ) -> Fields? {
        guard var result = fields, let local = self.fields(at: operation.sequence - 1) else {
            return fields
        }
        for field in table.denyingReferences.map(\.field) where result.value(field) == .null {
            result[field] = local.value(field)
        }
        return result
    }

    /// With the files that follow edits which the service has without them, if its version has what it
    /// had of them before.
    ///
    /// - Parameter whole: What is due if the service has none of the edits.
    func followed(
        _ fields: Fields?, byFilesOf whole: Fields?, at operation: OperationView,
        _ table: EntityTable
    ) -> Fields? {
        guard var result = fields, let whole, let server = self.fields(at: operation.sequence)
        else { return fields }
        let before = (synced > 0 ? self.fields(at: synced) : nil) ?? Fields()
        for attribute in table.attributes where attribute.schema?.isAfterwards == true {
            let field = attribute.field
            if WireForm.areSame(field, server, before, table) {
                result[field] = whole.value(field)
            }
        }
        return result
    }

    /// Local operations that the service's version was put in front of, without a conflict: they
    /// have to stand on top of it again.
    struct Owed {
        let sequences: [UInt64]
        let transaction: UInt64
        /// What the record has to be: the service's version with what the operations changed. There
        /// are two ways if the service has a part of them.
        let fields: [Fields?]
    }
}
