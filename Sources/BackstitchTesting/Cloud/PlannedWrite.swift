import BackstitchCore

/// One operation of a request, checked against the zone as it was before the request.
struct PlannedWrite: Sendable {
    enum Kind: Sendable {
        case create
        case update
        case delete
    }

    var kind: Kind
    /// The slot of the record.
    var slot: Int
    /// The record to be stored, not stamped yet; nil for a delete.
    var record: ServiceRecord?
    var bytes = 0
    var links: [RecordLink] = []
    /// The size of the operation itself as the limits count it.
    var requestBytes: Int
}

extension ZoneState {
    /// Checks an operation on its own. References are left to the whole request.
    func plan(
        _ operation: RecordModification, slot: Int, rules: RecordRules
    ) throws(ServiceError) -> PlannedWrite {
        switch operation {
        case .create(let name, let recordType, let fields):
            try planCreate(name, recordType, fields, slot: slot, rules: rules)
        case .update(_, let recordType, let changeTag, let fields):
            try planUpdate(recordType, changeTag, fields, slot: slot, rules: rules)
        case .delete(_, let changeTag):
            try planDelete(changeTag, slot: slot, rules: rules)
        }
    }

    private func planCreate(
        _ name: String, _ recordType: String, _ fields: NamedFields, slot: Int,
        rules: RecordRules
    ) throws(ServiceError) -> PlannedWrite {
        if let existing = slots[slot].record {
            throw ServiceError(
                .alreadyExists, "record to insert already exists",
                serverRecord: rules.options.existsCarriesServerRecord ? existing : nil)
        }
        let declared = try rules.declaredFields(of: recordType)
        var plan = PlannedWrite(
            kind: .create, slot: slot, requestBytes: name.utf8.count + recordType.utf8.count)
        plan.bytes = plan.requestBytes
        var hasNull = false
        for (key, value) in fields {
            try rules.check(value, of: key, declared: declared)
            let bytes = key.utf8.count + value.countedBytes
            plan.requestBytes += bytes
            if case .null = value { hasNull = true } else { plan.bytes += bytes }
            value.collectLinks(into: &plan.links)
        }
        plan.record = ServiceRecord(
            recordName: name, recordType: recordType, changeTag: "", modifiedMilliseconds: 0,
            fields: hasNull ? fields.filter { $0.value != .null } : fields)
        try rules.checkSize(plan.bytes)
        return plan
    }

    private func planUpdate(
        _ recordType: String, _ changeTag: String, _ fields: NamedFields, slot: Int,
        rules: RecordRules
    ) throws(ServiceError) -> PlannedWrite {
        guard var record = slots[slot].record else {
            throw ServiceError(.unknownItem, "record not found")
        }
        guard record.changeTag == changeTag else { throw rules.conflict(with: record) }
        guard record.recordType == recordType else {
            throw ServiceError(
                .invalidRequest, "the record is of type \(record.recordType)")
        }
        let declared = try rules.declaredFields(of: recordType)
        var plan = PlannedWrite(
            kind: .update, slot: slot,
            requestBytes: record.recordName.utf8.count + recordType.utf8.count)
        plan.bytes = slots[slot].bytes
        var touchesLinks = false
        for (key, value) in fields {
            try rules.check(value, of: key, declared: declared)
            let bytes = key.utf8.count + value.countedBytes
            plan.requestBytes += bytes
            let old: ServiceValue?
            if case .null = value {
                old = record.fields.removeValue(forKey: key)
            } else {
                old = record.fields.updateValue(value, forKey: key)
                plan.bytes += bytes
            }
            if let old {
                plan.bytes -= key.utf8.count + old.countedBytes
                touchesLinks = touchesLinks || old.holdsReferences
            }
            touchesLinks = touchesLinks || value.holdsReferences
        }
        if touchesLinks {
            for value in record.fields.values { value.collectLinks(into: &plan.links) }
        } else {
            plan.links = slots[slot].links
        }
        plan.record = record
        try rules.checkSize(plan.bytes)
        return plan
    }

    private func planDelete(
        _ changeTag: String, slot: Int, rules: RecordRules
    ) throws(ServiceError) -> PlannedWrite {
        guard let record = slots[slot].record else {
            throw ServiceError(.unknownItem, "record not found")
        }
        guard record.changeTag == changeTag else { throw rules.conflict(with: record) }
        return PlannedWrite(
            kind: .delete, slot: slot,
            requestBytes: record.recordName.utf8.count + changeTag.utf8.count)
    }
}

extension RecordRules {
    func conflict(with record: ServiceRecord) -> ServiceError {
        ServiceError(
            .conflict, "client oplock error updating record",
            serverRecord: options.conflictsCarryServerRecord ? record : nil)
    }

    func checkSize(_ bytes: Int) throws(ServiceError) {
        guard bytes > limits.recordBytes else { return }
        throw ServiceError(
            .limitExceeded, "record has \(bytes) bytes of \(limits.recordBytes)")
    }
}
