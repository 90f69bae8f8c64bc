package import BackstitchCore
import BackstitchLog
import BackstitchStore

/// A record that became one with another one.
package struct MergedDuplicate {
    package let key: RecordKey
    package let entityName: String
    /// The operation that made them one.
    package let sequence: UInt64
}

/// Records of a zone with the same value of a unique attribute become one when they meet by sync.
///
/// Which one stays, and what it has, follows from the records alone, so that every device that sees
/// them decides the same: the one with the smaller name stays and keeps its values; attributes that
/// have none there take the other's. References to the other follow. All of it is pushed; a device
/// that finds the service has it already pushes nothing.
///
/// Records that arrive are noted, and looked at once a pull has come to its end: on the way there,
/// records may share a value that one of them lost long ago.
package struct DuplicateMerger {
    private let log: LogWriter
    private let policy: ConflictSettings
    /// The slot of the zone of the records that arrived.
    private let zone: UInt8
    private var reader: TableReader { log.reader }
    private var catalog: CatalogSnapshot { log.catalog }

    package init(_ merger: RecordMerger) {
        (log, policy, zone) = (merger.log, merger.policy, merger.zone)
    }

    /// Notes a record that was just taken over, if it shares a unique value or refers to a record
    /// that ended as a duplicate.
    func note(_ record: ServiceRecord) throws {
        guard let table = catalog.table(named: record.recordType) else { return }
        let key = RecordKey(RecordName(record.recordName), zone: zone)
        let other = try duplicate(of: key, in: table)
        guard try other != nil || !turnedReferences(of: key, in: table).isEmpty else { return }
        try log.note(.duplicate, key, Array((other?.name.description ?? "").utf8))
    }

    /// Merges noted records with those that have a unique value of theirs.
    ///
    /// - Parameter limit: The most notes that are looked at, so that the transaction has an end.
    /// - Returns: the records that ended, and whether no notes are left.
    package func mergeNoted(
        limit: Int = 1_000
    ) throws -> (merged: [MergedDuplicate], isDone: Bool) {
        var merged: [MergedDuplicate] = []
        let notes = try takeDuplicateNotes(limit)
        for note in notes {
            let key = note.key
            for table in catalog.tables {
                for (field, ending, staying) in try turnedReferences(of: key, in: table) {
                    let place = StoredRecordID(entity: table.number, key: key)
                    try turn(field, of: place, from: ending, to: staying, &merged)
                }
                try mergeDuplicates(of: key, in: table, &merged)
                if let other = note.other {
                    try turnReferrers(ofEnded: other, to: key, table, &merged)
                }
            }
        }
        return (merged, notes.count < limit)
    }

    /// Noted records with those that they met, which are noted no more.
    private func takeDuplicateNotes(
        _ limit: Int
    ) throws -> [(key: RecordKey, other: RecordKey?)] {
        var notes: [(key: RecordKey, other: RecordKey?)] = []
        try reader.meta.visitNotes(.duplicate, in: zone) { key, other in
            let other = String(decoding: other, as: UTF8.self)
            notes.append(
                (key, other.isEmpty ? nil : RecordKey(RecordName(other), zone: key.zone)))
            return notes.count < limit
        }
        for note in notes { try log.forgetNote(.duplicate, note.key) }
        return notes
    }

    /// Makes what is not pushed yet refer to a record that came in the place of one that the service
    /// ended in the same pull: another device made them one. The service itself tells of the rest.
    private func turnReferrers(
        ofEnded ending: RecordKey, to staying: RecordKey, _ table: EntityTable,
        _ merged: inout [MergedDuplicate]
    ) throws {
        let staying = try successor(of: staying, in: table) ?? staying
        guard try reader.row(table.number, staying)?.isDeleted == false,
            try reader.row(table.number, ending)?.isDeleted != false
        else { return }
        for referrer in try referrers(of: ending, in: table) {
            guard
                try reader.row(referrer.place.entity, referrer.place.key)?.isDirty == true
            else { continue }
            try turn(
                referrer.field, of: referrer.place, from: ending, to: staying, &merged)
        }
    }

    private func mergeDuplicates(
        of key: RecordKey, in table: EntityTable,
        _ merged: inout [MergedDuplicate]
    ) throws {
        var key = key
        // Each turn ends one record.
        while let other = try duplicate(of: key, in: table) {
            let (staying, ending) = key.name < other.name ? (key, other) : (other, key)
            try merge(ending, into: staying, of: table, &merged)
            key = staying
        }
    }

    private func duplicate(of key: RecordKey, in table: EntityTable) throws -> RecordKey? {
        guard let row = try reader.row(table.number, key), !row.isDeleted else { return nil }
        for attribute in table.unique {
            if let other = try UniqueValue(attribute, of: table, in: reader)
                .other(than: key, with: row)
            {
                return other
            }
        }
        return nil
    }

    private func merge(
        _ ending: RecordKey, into staying: RecordKey, of table: EntityTable,
        _ merged: inout [MergedDuplicate]
    ) throws {
        guard let kept = try fields(table, staying), let lost = try fields(table, ending),
            let row = try reader.row(table.number, ending)
        else { return }
        var outcome = kept
        for (field, value) in lost where outcome.value(field) == .null {
            outcome[field] = value == .reference(ending) ? .reference(staying) : value
        }
        // The other ends first, so that none of its unique values is there twice meanwhile.
        let referrers = try self.referrers(of: ending, in: table)
        let report = ConflictReport(
            policy: policy.rules.merging(table).policy, base: nil, local: lost, server: kept,
            outcome: outcome, copy: staying.name)
        try log.appendDelete(
            origin: .rebase, entity: table.number, key: ending, row: row, conflict: report)
        merged.append(
            MergedDuplicate(key: ending, entityName: table.name, sequence: log.head))
        try log.replace(staying, table, with: outcome, origin: .rebase)
        for referrer in referrers {
            try turn(referrer.field, of: referrer.place, from: ending, to: staying, &merged)
        }
    }

    private func fields(_ table: EntityTable, _ key: RecordKey) throws -> Fields? {
        guard let row = try reader.row(table.number, key), !row.isDeleted else { return nil }
        return try row.currentFields
    }

    private func referrers(
        of key: RecordKey, in target: EntityTable
    ) throws -> [(place: StoredRecordID, field: FieldID)] {
        var found: [(place: StoredRecordID, field: FieldID)] = []
        for table in catalog.tables {
            for attribute in table.references
            where attribute.schema?.reference?.target == target.name {
                for referrer in try Referrers(
                    reader, of: table.number, attribute.field, to: key
                ).keys {
                    found.append(
                        (StoredRecordID(entity: table.number, key: referrer), attribute.field))
                }
            }
        }
        return found
    }

    /// The references of a record to records that ended as duplicates, and those that stayed. While
    /// the ends are still to be pushed, the service would take what refers to them with them.
    private func turnedReferences(
        of key: RecordKey, in table: EntityTable
    ) throws -> [(field: FieldID, ending: RecordKey, staying: RecordKey)] {
        var found: [(field: FieldID, ending: RecordKey, staying: RecordKey)] = []
        for attribute in table.references {
            guard let name = attribute.schema?.reference?.target,
                let target = catalog.table(named: name), !target.unique.isEmpty,
                let ending = try fields(table, key)?.value(attribute.field).referencedKey,
                let staying = try successor(of: ending, in: target)
            else { continue }
            found.append((attribute.field, ending, staying))
        }
        return found
    }

    /// The record that a duplicate became one with; nil if it did not end as one.
    private func successor(of ending: RecordKey, in table: EntityTable) throws -> RecordKey? {
        var key = ending
        while let row = try reader.row(table.number, key) {
            if !row.isDeleted { return key == ending ? nil : key }
            // Names get smaller on the way, so that it has an end.
            guard let next = try stayed(for: row), next < key.name else { return nil }
            key = RecordKey(next, zone: key.zone)
        }
        return nil
    }

    /// The record that stayed for one that ended as a duplicate, which the service was not told yet.
    func stayed(for row: RowView) throws -> RecordName? {
        guard row.isDeleted, row.isDirty else { return nil }
        return try reader.log.withOperation(row.lastSequence) { operation -> RecordName? in
            guard operation.kind == .delete, operation.origin == .rebase,
                let bytes = unsafe operation.conflictBytes
            else { return nil }
            return try unsafe ConflictReport(reading: bytes).copy
        } ?? nil
    }

    /// Makes a reference point to the record that stays. What refers to it may be a duplicate then.
    private func turn(
        _ field: FieldID, of place: StoredRecordID, from ending: RecordKey, to staying: RecordKey,
        _ merged: inout [MergedDuplicate]
    ) throws {
        guard let table = catalog.table(place.entity),
            var changed = try fields(table, place.key)
        else { return }
        changed[field] = .reference(staying)
        try log.replace(place.key, table, with: changed, origin: .rebase)
        try mergeDuplicates(of: place.key, in: table, &merged)
    }
}

extension RecordValue {
    fileprivate var referencedKey: RecordKey? {
        if case .reference(let key) = self { key } else { nil }
    }
}
