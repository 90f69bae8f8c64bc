public import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Deletes a record, and does to the records that refer to it what their delete rules say.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: `deleteDenied` if a rule forbids it; nothing is deleted then.
    @discardableResult
    public func delete<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        let binding = try types.binding(of: Model.self)
        return try log.delete(binding.number, id.key)
    }

    /// Deletes a record, and does to the records that refer to it what their delete rules say.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: `deleteDenied` if a rule forbids it; nothing is deleted then.
    @discardableResult
    public func delete<Model: Entity>(_ model: Model) throws -> Bool {
        try delete(model.id)
    }
}

/// What a delete will do, found out before anything is done.
private struct DeletePlan {
    /// The records to delete, referrers before what they refer to, but for cycles.
    var deletions: [RecordPlace] = []
    var isDeleted: Set<RecordPlace> = []
    /// The references to clear.
    var nullified: [(place: RecordPlace, field: FieldID)] = []
    var denied: [(place: RecordPlace, description: String)] = []
}

extension LogWriter {
    package func delete(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try reader.row(entity, key), !row.isDeleted else { return false }
        var plan = DeletePlan()
        try extend(&plan, with: RecordPlace(entity: entity, key: key))
        if let denial = plan.denied.first(where: { !plan.isDeleted.contains($0.place) }) {
            throw StoreError(
                .deleteDenied,
                "The record \(key) can't be deleted: \(denial.description) refers to it with the "
                    + "rule deny. Delete or change that record first.")
        }
        for (place, field) in plan.nullified where !plan.isDeleted.contains(place) {
            try clear(field, of: place)
        }
        for place in plan.deletions { try appendDelete(place) }
        return true
    }

    /// Adds a record to delete and everything that follows from its delete rules.
    private func extend(_ plan: inout DeletePlan, with first: RecordPlace) throws {
        // An explicit stack: a chain of cascades may be longer than the thread's. A record comes
        // up once to find its referrers, and again when they are all in the plan.
        var stack = [(place: first, hasReferrers: false)]
        while let (place, hasReferrers) = stack.popLast() {
            if hasReferrers {
                plan.deletions.append(place)
                continue
            }
            guard plan.isDeleted.insert(place).inserted else { continue }
            stack.append((place, true))
            guard let target = catalog.table(place.entity) else { continue }
            for table in catalog.tables {
                for attribute in table.references {
                    guard let reference = attribute.schema?.reference,
                        reference.target == target.name, reference.onDelete != .noAction
                    else { continue }
                    let referrers = try reader.referrers(
                        of: table.number, attribute.field, to: place.key)
                    for key in referrers {
                        let referrer = RecordPlace(entity: table.number, key: key)
                        switch reference.onDelete {
                        case .cascade:
                            if !plan.isDeleted.contains(referrer) {
                                stack.append((referrer, false))
                            }
                        case .nullify:
                            plan.nullified.append((referrer, attribute.field))
                        case .deny:
                            plan.denied.append(
                                (referrer, "\(table.name).\(attribute.name) of \(key)"))
                        case .noAction:
                            break
                        }
                    }
                }
            }
        }
    }

    private func clear(_ field: FieldID, of place: RecordPlace) throws {
        guard let row = try reader.row(place.entity, place.key), !row.isDeleted,
            let before = try row.fields?.rawValue(of: field)
        else { return }
        beforeWriter.reset()
        afterWriter.reset()
        try beforeWriter.write(raw: before, of: field)
        try afterWriter.write(.null, of: field, keepsNull: true)
        // Clearing a reference does not make a record fit its type.
        let flags: OperationHeader.Flags =
            row.flags.contains(.isUnreadable) ? .isUnreadable : []
        try appendUpdate(
            origin: .local, entity: place.entity, key: place.key, previous: row.lastSequence,
            flags: flags)
    }

    private func appendDelete(_ place: RecordPlace) throws {
        guard let row = try reader.row(place.entity, place.key), !row.isDeleted else { return }
        try appendDelete(origin: .local, entity: place.entity, key: place.key, row: row)
    }
}
