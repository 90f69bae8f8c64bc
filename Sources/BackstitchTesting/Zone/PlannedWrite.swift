import BackstitchCore

/// One operation of a request, checked against the zone as it was before the request.
struct PlannedWrite: Sendable {
    enum Kind: Sendable {
        case create
        case update
        case delete
    }

    var kind: Kind
    /// The slot of the record; -1 where the name is no name.
    var slot: Int
    /// The record to be stored, not stamped yet; nil for a delete.
    var record: ServiceRecord?
    var bytes = 0
    var links: [RecordLink] = []
    /// Why it is not done.
    var error: ServiceError?
}

extension ZoneState {
    /// Checks an operation on its own. References are left to the whole request.
    func plan(
        _ operation: RecordModification, slot: Int, rules: RecordRules
    ) -> PlannedWrite {
        switch operation {
        case .create(let name, let recordType, let fields):
            planCreate(name, recordType, fields, slot: slot, rules: rules)
        case .update(_, let recordType, let changeTag, let fields):
            planUpdate(recordType, changeTag, fields, slot: slot, rules: rules)
        case .delete(_, let changeTag):
            planDelete(changeTag, slot: slot, rules: rules)
        }
    }

    private func planCreate(
        _ name: String, _ recordType: String, _ fields: [String: ServiceValue], slot: Int,
        rules: RecordRules
    ) -> PlannedWrite {
        var plan = PlannedWrite(kind: .create, slot: slot)
        if let existing = slots[slot].record {
            plan.error = ServiceError(
                .alreadyExists, reason: "record to insert already exists",
                serverRecord: rules.options.existsCarriesServerRecord ? existing : nil)
            return plan
        }
        if let error = rules.fault(inType: recordType, fields: fields) {
            plan.error = error
            return plan
        }
        var bytes = name.utf8.count + recordType.utf8.count
        var hasNull = false
        for (key, value) in fields {
            if case .null = value { hasNull = true } else { bytes += key.utf8.count }
            bytes += value.byteCount
            value.collectLinks(into: &plan.links)
        }
        plan.bytes = bytes
        plan.record = ServiceRecord(
            recordName: name, recordType: recordType, changeTag: "", modifiedMilliseconds: 0,
            fields: hasNull ? fields.filter { $0.value != .null } : fields)
        plan.error = rules.sizeFault(bytes)
        return plan
    }

    private func planUpdate(
        _ recordType: String, _ changeTag: String, _ fields: [String: ServiceValue], slot: Int,
        rules: RecordRules
    ) -> PlannedWrite {
        var plan = PlannedWrite(kind: .update, slot: slot)
        guard var record = slots[slot].record else {
            plan.error = ServiceError(.unknownItem, reason: "record not found")
            return plan
        }
        guard record.changeTag == changeTag else {
            plan.error = rules.conflict(with: record)
            return plan
        }
        guard record.recordType == recordType else {
            plan.error = ServiceError(
                .invalidRequest, reason: "the record is of type \(record.recordType)")
            return plan
        }
        if let error = rules.fault(inType: recordType, fields: fields) {
            plan.error = error
            return plan
        }
        var bytes = slots[slot].bytes
        var touchesLinks = false
        for (key, value) in fields {
            let old: ServiceValue?
            if case .null = value {
                old = record.fields.removeValue(forKey: key)
            } else {
                old = record.fields.updateValue(value, forKey: key)
                bytes += key.utf8.count + value.byteCount
            }
            if let old {
                bytes -= key.utf8.count + old.byteCount
                touchesLinks = touchesLinks || old.holdsReferences
            }
            touchesLinks = touchesLinks || value.holdsReferences
        }
        plan.bytes = bytes
        plan.links = slots[slot].links
        if touchesLinks {
            plan.links = []
            for value in record.fields.values { value.collectLinks(into: &plan.links) }
        }
        plan.record = record
        plan.error = rules.sizeFault(bytes)
        return plan
    }

    private func planDelete(_ changeTag: String, slot: Int, rules: RecordRules) -> PlannedWrite {
        var plan = PlannedWrite(kind: .delete, slot: slot)
        if let record = slots[slot].record {
            if record.changeTag != changeTag { plan.error = rules.conflict(with: record) }
        } else {
            plan.error = ServiceError(.unknownItem, reason: "record not found")
        }
        return plan
    }
}

extension RecordRules {
    func conflict(with record: ServiceRecord) -> ServiceError {
        ServiceError(
            .conflict, reason: "client oplock error updating record",
            serverRecord: options.conflictsCarryServerRecord ? record : nil)
    }

    func sizeFault(_ bytes: Int) -> ServiceError? {
        guard bytes > limits.recordBytes else { return nil }
        return ServiceError(
            .limitExceeded, reason: "record has \(bytes) bytes of \(limits.recordBytes)")
    }
}
