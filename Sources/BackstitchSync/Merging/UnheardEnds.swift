import BackstitchCore
import BackstitchLog

/// Deletes that the service never heard of, because it lost the zone before they were pushed.
///
/// Nothing is left to be pushed then. But another device that had the record uploads it again, some
/// day, and knows nothing of the delete. So a note in `meta` stands for it, until the record is there
/// again: then the two versions meet as they would have met before.
extension RecordMerger {
    /// The delete of a record that the service never heard of; nil if there is none, or if the
    /// log does not have it any more.
    private func unheardEnd(_ key: RecordKey, _ table: EntityTable) throws -> OperationStep? {
        guard let note = try log.noted(.unheard, key), note.count == 10,
            note.bigEndian() == table.number.rawValue
        else { return nil }
        let sequence = note.bigEndian(UInt64.self, at: 2)
        let step = try reader.log.withOperation(sequence) { operation in
            guard operation.kind == .delete, try operation.key == key else {
                return OperationStep?.none
            }
            return try OperationStep(operation)
        }
        return step ?? nil
    }

    /// Merges a record that another device uploaded again and that was deleted here before.
    ///
    /// If it is what it was when it was deleted, the delete is pushed; otherwise the policy decides
    /// between the delete and what the service has.
    /// - Returns: nil if it was not deleted so.
    func mergeUnheardEnd(
        _ key: RecordKey, _ table: EntityTable, _ record: ServiceRecord, _ version: ServerVersion
    ) throws -> MergeResult? {
        guard let step = try unheardEnd(key, table), case .delete(let before) = step.change else {
            try log.forgetNote(.unheard, key)
            return nil
        }
        let (fields, known) = try serviceFields.fields(of: record, table)
        let place = ConflictKey(
            entity: table.number, record: key, changeTag: version.changeTag,
            localSequence: step.sequence)
        var merge = Merge(
            rules: policy.rules.merging(known), knownFields: known.declaredFields
        ) { field, first, second in
            ServiceMapping.areSame(first, second, of: known.attribute(field)?.schema)
        }
        merge.answer = policy.answers[place] ?? policy.lastAnswer
        // There is nothing here that could be parked.
        if case .park? = merge.answer { merge.answer = .server }
        let plan = merge.plan(unheardEnd: step, of: before, version: version, server: fields)
        if let question = plan.question { return .undecided(place, question) }
        try log.forgetNote(.unheard, key)
        let settled = try perform(plan, key, known)
        return plan.conflict == nil ? .applied : .conflict(sequence: settled)
    }
}

extension LogWriter {
    /// Notes that the service never hears of a delete.
    func noteUnheardEnd(of key: RecordKey, _ entity: EntityNumber, sequence: UInt64) throws {
        try note(.unheard, key, entity.rawValue.bigEndianBytes + sequence.bigEndianBytes)
    }
}
