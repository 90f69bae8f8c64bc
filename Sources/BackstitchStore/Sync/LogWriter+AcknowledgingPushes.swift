package import BackstitchCore
package import BackstitchLog

extension LogWriter {
    /// Notes that the service took what was pushed of a record.
    ///
    /// Where these operations were given up while the push was under way, what was pushed is a version
    /// of the service as any other, and is merged: the tag must not stand for other values. A record
    /// that is gone meanwhile comes with the next pull.
    /// - Parameters:
    ///   - version: What the service has now; nil if the record does not exist there.
    ///   - deferred: The names of fields that were left out, and stay to be pushed.
    package func acknowledgePush(
        _ change: PendingChange, version: ServerVersion?, without deferred: Set<String> = [],
        policy: ConflictSettings
    ) throws -> MergeResult {
        let key = change.key
        guard let table = catalog.table(change.entity),
            let row = try reader.row(change.entity, key)
        else { return .unchanged }
        if version != nil { try forgetUnheardEnd(of: key) }
        if try reader.isPending(change.through, in: row) {
            if let version, !deferred.isEmpty {
                try acknowledgePart(
                    change.entity, key, through: change.through, version: version,
                    without: deferred)
            } else {
                try acknowledge(change.entity, key, through: change.through, version: version)
            }
            return .applied
        }
        guard let version, var sent = try reader.fields(after: change.through) else {
            return try mergeAbsent(table, key, policy: policy)
        }
        for name in deferred { table.attribute(named: name).map { sent[$0.field] = nil } }
        sent = sent.without(table.unsentFields)
        return try merge(
            .present(stamp: version, fields: sent.withoutNulls, requested: nil), key, table, row,
            policy, isAuthoritative: row.changeTag == change.changeTag)
    }
}

extension TableReader {
    /// Whether an operation is one of a record's that the service does not have yet.
    func isPending(_ sequence: UInt64, in row: RowView) throws -> Bool {
        guard row.syncedSequence < sequence else { return false }
        var found = row.lastSequence
        while found > sequence { found = try withOperation(found, \.previous) ?? 0 }
        return found == sequence
    }

    /// The fields of a record after one of its operations; nil if it ended with that.
    fileprivate func fields(after sequence: UInt64) throws -> Fields? {
        try contentSteps(from: sequence, after: 0).reduce(nil) { $1.change.applied(to: $0) }
    }
}
