import BackstitchCore

/// Records with the same value of a unique attribute become one when they meet by sync.
///
/// Which one stays, and what it has, follows from the records alone, so that every device that sees
/// them decides the same: the one with the smaller name stays and keeps its values; attributes that
/// have none there take the other's. References to the other follow. All of it is pushed; a device
/// that finds the service has it already pushes nothing.
extension WriteContext {
    /// Merges a record that was just taken over with those that have a unique value of it.
    ///
    /// - Returns: what came of the record, with the report where there was no other conflict.
    func mergeDuplicates(
        of record: ServiceRecord, after result: MergeResult, policy: ConflictSettings
    ) throws -> MergeResult {
        switch result {
        case .unchanged, .parked, .undecided, .rejected: return result
        case .applied, .conflict: break
        }
        guard let table = catalog.table(named: record.recordType) else { return result }
        let key = RecordKey(RecordName(record.recordName))
        try turnReferences(of: key, in: table, policy)
        if table.unique.isEmpty { return result }
        let report = try mergeDuplicates(of: key, in: table, policy)
        guard case .applied = result, let report else { return result }
        return .conflict(report)
    }

    private func mergeDuplicates(
        of key: RecordKey, in table: EntityTable, _ policy: ConflictSettings
    ) throws -> ConflictReport? {
        var key = key
        var report: ConflictReport?
        // Each turn ends one record.
        while let other = try duplicate(of: key, in: table) {
            let (staying, ending) = key.name < other.name ? (key, other) : (other, key)
            report = try merge(ending, into: staying, of: table, policy) ?? report
            key = staying
        }
        return report
    }

    private func duplicate(of key: RecordKey, in table: EntityTable) throws -> RecordKey? {
        guard let row = try reader.row(table.number, key), !row.isDeleted else { return nil }
        for attribute in table.unique {
            if let other = try reader.record(sharing: attribute, of: table, with: key, row) {
                return other
            }
        }
        return nil
    }

    private func merge(
        _ ending: RecordKey, into staying: RecordKey, of table: EntityTable,
        _ policy: ConflictSettings
    ) throws -> ConflictReport? {
        guard let kept = try fields(table, staying), let lost = try fields(table, ending) else {
            return nil
        }
        var merged = kept
        for (field, value) in lost where merged.value(field) == .null {
            merged[field] = value == .reference(ending) ? .reference(staying) : value
        }
        // The other ends first, so that none of its unique values is there twice meanwhile.
        let referrers = try self.referrers(of: ending, in: table)
        let report = ConflictReport(
            policy: policy.rules.merging(table).policy, base: nil, local: lost, server: kept,
            outcome: merged)
        guard let row = try reader.row(table.number, ending) else { return nil }
        try appendDelete(
            origin: .rebase, entity: table.number, key: ending, row: row, conflict: report)
        try replace(
            staying, table, with: merged, origin: .rebase, stamp: nil, conflict: nil)
        for referrer in referrers {
            try turn(referrer.field, of: referrer.place, from: ending, to: staying, policy)
        }
        return report
    }

    private func fields(_ table: EntityTable, _ key: RecordKey) throws -> Fields? {
        guard let row = try reader.row(table.number, key), !row.isDeleted else { return nil }
        return try row.fields.map { try Fields($0) }
    }

    private func referrers(
        of key: RecordKey, in target: EntityTable
    ) throws -> [(place: RecordPlace, field: FieldID)] {
        var found: [(place: RecordPlace, field: FieldID)] = []
        for table in catalog.tables {
            for attribute in table.references
            where attribute.schema?.reference?.target == target.name {
                for referrer in try reader.referrers(of: table.number, attribute.field, to: key) {
                    found.append(
                        (RecordPlace(entity: table.number, key: referrer), attribute.field))
                }
            }
        }
        return found
    }

    /// Makes references of a record that arrived follow the records that ended as duplicates, while
    /// their ends are still to be pushed: the service would take what refers to them with them.
    private func turnReferences(
        of key: RecordKey, in table: EntityTable, _ policy: ConflictSettings
    ) throws {
        for attribute in table.references {
            guard let name = attribute.schema?.reference?.target,
                let target = catalog.table(named: name), !target.unique.isEmpty,
                let ending = try fields(table, key)?.value(attribute.field).referencedKey,
                let staying = try successor(of: ending, in: target)
            else { continue }
            let place = RecordPlace(entity: table.number, key: key)
            try turn(attribute.field, of: place, from: ending, to: staying, policy)
        }
    }

    /// The record that a duplicate was merged into; nil where it did not end as one.
    private func successor(of ending: RecordKey, in table: EntityTable) throws -> RecordKey? {
        guard let row = try reader.row(table.number, ending), row.isDeleted, row.isDirty else {
            return nil
        }
        let outcome = try reader.withOperation(row.lastSequence) { operation -> Fields? in
            guard operation.kind == .delete, operation.origin == .rebase,
                let bytes = operation.conflictBytes
            else { return nil }
            return try ConflictReport(reading: bytes).outcome
        }
        guard case .some(.some(let fields)) = outcome else { return nil }
        var writer = FieldWriter()
        try fields.write(to: &writer)
        var buffer = ByteBuffer(capacity: 1024)
        writer.finish(into: &buffer)
        guard let packed = PackedFields(buffer.bytes) else { return nil }
        for attribute in table.unique {
            if let key = try reader.record(sharing: attribute, of: table, with: ending, packed) {
                return key
            }
        }
        return nil
    }

    /// Makes a reference point to the record that stays. What refers to it may be a duplicate then.
    private func turn(
        _ field: FieldID, of place: RecordPlace, from ending: RecordKey, to staying: RecordKey,
        _ policy: ConflictSettings
    ) throws {
        guard let table = catalog.table(place.entity),
            var changed = try fields(table, place.key)
        else { return }
        changed[field] = .reference(staying)
        try replace(
            place.key, table, with: changed, origin: .rebase, stamp: nil, conflict: nil)
        _ = try mergeDuplicates(of: place.key, in: table, policy)
    }
}

extension Value {
    fileprivate var referencedKey: RecordKey? {
        if case .reference(let key) = self { key } else { nil }
    }
}
