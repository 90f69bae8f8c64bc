import BackstitchCore
import CloudKitWire
import Foundation

extension ModifyPlanner {
    /// Checks an operation on its own against the zone as it was before the request.
    func draft(_ operation: WireRecordOperation) throws -> Result<ModifyDraft, WireError> {
        do {
            return .success(try checkedDraft(operation))
        } catch let error as WireError {
            return .failure(error)
        }
    }

    private func checkedDraft(_ operation: WireRecordOperation) throws -> ModifyDraft {
        if let unreadable = operation.unreadable {
            throw WireError(.badRequest, unreadable.message)
        }
        guard let name = operation.record.recordName, ServiceNames.isRecordName(name) else {
            throw WireError(
                .badRequest,
                "A record name has 1 to 255 ASCII characters and starts with no underscore.")
        }
        try budget.begin()
        let stored = try cache.record(name, in: view)
        // What is there is read, mostly twice, and what comes is written.
        try budget.spend(bytes: stored?.fieldsJSON.count ?? 0)
        let live = stored.flatMap { $0.isDeleted ? nil : $0 }
        switch operation.kind {
        case .create:
            if let live {
                throw WireError(
                    .exists, "record to insert already exists", serverRecord: wire(live))
            }
            return try save(operation, name, over: nil, tombstone: stored)
        case .update, .replace:
            guard let live else { throw WireError(.notFound, "Record not found") }
            guard let tag = operation.record.recordChangeTag else {
                throw WireError(
                    .badRequest, "A recordChangeTag is missing; send the record's, or force it.")
            }
            guard tag == live.changeTag else { throw conflict(with: live) }
            return try save(operation, name, over: live, tombstone: nil)
        case .forceUpdate, .forceReplace:
            return try save(operation, name, over: live, tombstone: live == nil ? stored : nil)
        case .delete:
            guard let live else { throw WireError(.notFound, "Record not found") }
            // One page of the reference asks for the tag, another one for the name only.
            if let tag = operation.record.recordChangeTag, tag != live.changeTag {
                throw conflict(with: live)
            }
            return try remove(live)
        case .forceDelete:
            guard let live else { return ModifyDraft(kind: .nothing, recordName: name) }
            return try remove(live)
        }
    }

    private func conflict(with record: StoredRecord) -> WireError {
        WireError(
            .conflict, "client oplock error updating record", serverRecord: wire(record))
    }

    private func wire(_ record: StoredRecord) -> WireRecord? { try? record.wire() }

    private func checkOwner(of record: StoredRecord) throws(WireError) {
        guard !context.isPublic || record.createdBy == context.user else {
            throw WireError(.accessDenied, "Only who created a public record may change it.")
        }
    }

    private func remove(_ record: StoredRecord) throws -> ModifyDraft {
        try checkOwner(of: record)
        var draft = ModifyDraft(kind: .remove, recordName: record.recordName, needsRecord: true)
        draft.before = record
        return draft
    }

    private func save(
        _ operation: WireRecordOperation, _ name: String, over live: StoredRecord?,
        tombstone: StoredRecord?
    ) throws -> ModifyDraft {
        if let live { try checkOwner(of: live) }
        guard let type = operation.record.recordType ?? live?.recordType,
            ServiceNames.isIdentifier(type)
        else {
            throw WireError(
                .badRequest, "A recordType starts with a letter and has letters, digits and _.")
        }
        guard live == nil || live?.recordType == type else {
            throw WireError(.badRequest, "The record is of another type.")
        }
        guard live != nil || !ReservedNames.recordTypes.contains(type) else {
            throw WireError(
                .badRequest, "The recordType '\(type)' is the service's own. Take another name.")
        }
        var record = live ?? StoredRecord(recordName: name, recordType: type)
        let keepsFields = operation.kind == .update || operation.kind == .forceUpdate
        let old = try live.map { try $0.fields() } ?? [:]
        // Mostly all fields come, and are kept as they came: then nothing is copied.
        let new = operation.record.fields
        var fields = keepsFields && !old.isEmpty ? old.merging(new) { $1 } : new
        for (fieldName, field) in new {
            try check(field, fieldName)
            if let value = field.value {
                let before = old[fieldName]?.value
                let typed = field.hasType ? nil : value.typed(as: before)
                let changed = try typed ?? kept(value, fieldName, name, old: before)
                if let changed { fields[fieldName]?.value = changed }
            } else {
                fields[fieldName] = nil
            }
        }
        if let parent = operation.record.parent {
            guard ServiceNames.isRecordName(parent) else {
                throw WireError(.badRequest, "The parent has no valid record name.")
            }
            try checkZone(operation.record.parentZoneID, of: "parent")
            record.parent = parent
        } else if !keepsFields {
            record.parent = ""
        }
        let bytes = name.utf8.count + type.utf8.count + fields.byteCount
        guard bytes <= context.limits.recordBytes else {
            throw WireError(
                .quotaExceeded,
                "The record has \(bytes) bytes of \(context.limits.recordBytes). Put large values "
                    + "into assets.")
        }
        try budget.spend(bytes: bytes)
        record.fieldsJSON = WireRecord.fieldsBody(fields)
        var draft = ModifyDraft(kind: .save, recordName: name, needsRecord: live != nil)
        draft.before = live ?? tombstone
        draft.links = RecordLink.links(of: fields, parent: record.parent)
        draft.assets = fields.assetChecksums
        try budget.spend(links: draft.links.count + draft.assets.count)
        record.hasLinks = !draft.links.isEmpty
        record.hasAssets = !draft.assets.isEmpty
        draft.after = record
        return draft
    }

    private func check(_ field: WireField, _ name: String) throws(WireError) {
        guard ServiceNames.isIdentifier(name) else {
            throw WireError(
                .badRequest, "A field name starts with a letter and has letters, digits and _.")
        }
        if field.isEncrypted, context.isPublic, field.value != nil {
            throw WireError(
                .badRequest, "encrypted fields are not supported in the public database")
        }
    }

    /// Checks that a reference stays in the zone of its record: what the hub does for references it
    /// does within one zone, and a record of the same name in this one is another record.
    private func checkZone(_ zoneID: WireZoneID?, of name: String) throws(WireError) {
        guard let zoneID, !context.zoneID.isSame(as: zoneID) else { return }
        throw WireError(
            .badRequest, "'\(name)' refers to another zone. Both ends belong to one zone.")
    }

    /// A value of a field as it is kept; nil if that is how it came.
    private func kept(
        _ value: ServiceValue, _ fieldName: String, _ recordName: String, old: ServiceValue?
    ) throws -> ServiceValue? {
        switch value {
        case .reference(var reference):
            if reference.action == .unspecified { reference.action = .none }
            guard [.none, .deleteSelf, .validate].contains(reference.action),
                ServiceNames.isRecordName(reference.recordName)
            else { throw WireError(.badRequest, "'\(fieldName)' is no valid reference.") }
            try checkZone(reference.zoneID, of: fieldName)
            return .reference(reference)
        case .asset(let asset):
            return .asset(try checked(asset, fieldName, recordName, old: old))
        case .list(var elements, let type):
            for (index, element) in elements.enumerated() {
                let kept = try kept(element, fieldName, recordName, old: old)
                if let kept { elements[index] = kept }
            }
            return .list(elements, of: type)
        case .unknown(let unknown):
            // A type of newer clients, whose values are kept for them as they came.
            guard ServiceNames.isIdentifier(unknown.typeName) else {
                throw WireError(.badRequest, "'\(fieldName)' is of a type with an impossible name.")
            }
            return nil
        case .null, .string, .int64, .double, .timestamp, .bytes, .location: return nil
        }
    }

    /// A file that was uploaded for this field, or that the field holds already.
    private func checked(
        _ asset: ServiceAsset, _ fieldName: String, _ recordName: String, old: ServiceValue?
    ) throws -> ServiceAsset {
        if let receipt = asset.receipt {
            let uploaded = try view.uploadedAsset(
                receipt: receipt, recordName: recordName, fieldName: fieldName)
            if let uploaded { return uploaded }
        } else if let checksum = asset.fileChecksum {
            for case .asset(let known) in old?.elements ?? []
            where known.fileChecksum == checksum {
                return known
            }
        }
        throw WireError(
            .badRequest, "'\(fieldName)' holds no asset that was uploaded for it. Upload it first.")
    }
}

extension ServiceValue {
    /// A value that came without a type, in the type that its field has so far; nil if it has that or can't.
    fileprivate func typed(as old: ServiceValue?) -> ServiceValue? {
        switch (self, old) {
        case (.int64(let number), .timestamp?): .timestamp(milliseconds: number)
        case (.int64(let number), .double?): .double(Double(number))
        case (.string(let text), .bytes?): Data(base64Encoded: text).map { .bytes($0) }
        default: nil
        }
    }
}
