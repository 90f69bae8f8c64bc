package import BackstitchCore
import BackstitchLog

extension RecordMerger {
    /// Notes that the service took what was pushed of a record.
    ///
    /// If these operations were given up while the push was under way, what was pushed is a version
    /// of the service as any other, and is merged: the tag must not stand for other values. A record
    /// that is gone meanwhile comes with the next pull, and so does a version whose operations were
    /// compacted since they were given up.
    /// - Parameters:
    ///   - version: What the service has now; nil if the record does not exist there.
    ///   - deferred: The names of fields that were left out, and stay to be pushed.
    package func acknowledge(
        _ change: PendingChange, version: ServerVersion?, without deferred: Set<String> = []
    ) throws -> MergeResult {
        let key = change.key
        guard let table = catalog.table(change.entity),
            let row = try log.row(change.entity, key)
        else { return .unchanged }
        // The service took it on top of the version that is known here, so that there is no other.
        try log.forgetNote(.undelivered, key)
        if version != nil {
            // What the service was found to have, or not to have, was before this version.
            try log.forgetNote(.missed, key)
            try log.forgetNote(.unheard, key)
        }
        if try reader.history(of: row).isPending(change.through) {
            if let version, !deferred.isEmpty {
                try acknowledgePart(
                    of: table, key, row, through: change.through, version, without: deferred)
            } else {
                try log.marks.acknowledge(
                    change.entity, key, through: change.through, version: version)
            }
            return .applied
        }
        guard let version else { return try mergeAbsent(table, key) }
        guard try reader.log.withOperation(change.through, \.kind)?.changesContent == true
        else { return .unchanged }
        let pushed = RecordHistory(reader, lastSequence: change.through)
        guard let all = try pushed.folded else { return try mergeAbsent(table, key) }
        let later = Set(deferred.compactMap { table.attribute(named: $0)?.field })
        let sent = all.without(table.unsentFields.union(later)).withoutNulls
        // The service kept what it had of the fields that were left out.
        let told = later.isEmpty ? nil : Set(table.attributes.map(\.field)).subtracting(later)
        return try merge(
            .present(stamp: version, fields: sent, requested: told), key, table, row,
            isAuthoritative: row.changeTag == change.changeTag)
    }

    /// Notes that the service has a record's operations up to a sequence but for some fields, which
    /// stay to be pushed on top of what it has.
    private func acknowledgePart(
        of table: EntityTable, _ key: RecordKey, _ row: RowView, through: UInt64,
        _ version: ServerVersion, without names: Set<String>
    ) throws {
        let now = try row.currentFields
        // Newer edits, or a delete, go on top of what the service has: of those fields what it had.
        let history = reader.history(of: row)
        guard var part = try history.fields(after: through, undoneFrom: now) else {
            return try log.marks.acknowledge(table.number, key, through: through, version: version)
        }
        let base =
            row.hasChangeTag
            ? try history.fields(after: row.syncedSequence, undoneFrom: now) : nil
        for name in names {
            table.attribute(named: name).map { part[$0.field] = base?.value($0.field) }
        }
        try perform(
            MergePlan(
                remote: .adopt(version: version, fields: part.withoutNulls, through: through),
                rebase: now.map { .save($0) } ?? .delete), key, table)
    }

    /// Merges the end of a record that the feed told.
    ///
    /// The feed was read up to its end before a create is sent, and an update needs a record that is there. So
    /// an end that comes after either may be that of the record which was sent, and the policy decides, as
    /// about edits of a record that ended.
    package func mergeEnd(of key: RecordKey, recordType: String?) throws -> MergeResult {
        let isSent = try wasSent(key)
        let result = try mergeAbsent(key, recordType: recordType, isSent: isSent)
        try UnmergedVersions.forget(ended: key, in: log)
        return result
    }

    /// Whether a request may have made a record on the service, or made it anew, of which no answer came.
    func wasSent(_ key: RecordKey) throws -> Bool { try log.noted(.sent, key) != nil }

    /// Merges the end of a record that a lookup told.
    ///
    /// A replica that lags behind may have answered, and the feed may have been read past the version
    /// that there is: then nothing else would tell of it. So it is looked up once more.
    /// - Parameter isFirst: Whether no request before may have made the record as it is now: then the one
    ///   that ended is the one from before the delete here.
    package func mergeDoubtedEnd(
        of key: RecordKey, recordType: String, isFirst: Bool
    ) throws -> MergeResult {
        var known: Int64?
        if let table = catalog.table(named: recordType),
            let row = try log.row(table.number, key), row.hasChangeTag
        {
            known = row.modifiedMilliseconds
        }
        let isSent = try !isFirst && wasSent(key)
        let result = try mergeAbsent(key, recordType: recordType, isSent: isSent)
        switch result {
        case .applied, .conflict:
            if let known {
                try log.noteUnmergedVersion(of: key, modifiedMilliseconds: known, isDoubted: true)
            }
        case .unchanged, .parked, .undecided, .rejected, .unnumbered: break
        }
        return result
    }
}
