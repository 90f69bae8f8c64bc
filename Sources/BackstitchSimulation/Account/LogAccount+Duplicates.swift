import BackstitchCore
import BackstitchStore

/// Records that ended because another one has the same value of a unique attribute.
extension LogAccount {
    /// What a transaction that merges duplicates has to do before it ends.
    struct Merging {
        /// The transaction; nil if none merged.
        var transaction: UInt64?
        /// The records that ended.
        var ended: [RecordKey: StoredRecordID] = [:]
        /// What records that stay have to take.
        var adoptions: [(place: StoredRecordID, fields: Fields)] = []
    }

    /// Takes in the end of a duplicate: the record with the smaller name stays, keeps its values and
    /// takes the other's if it has none.
    mutating func end(
        duplicate place: StoredRecordID, _ entry: RecordAccount, with fields: Fields?,
        _ operation: OperationView
    ) throws {
        guard operation.origin == .rebase, operation.kind == .delete, operation.stamp == nil,
            let bytes = unsafe operation.conflictBytes
        else { return }
        let report = try unsafe ConflictReport(reading: bytes)
        guard let fields, let table = catalog.table(place.entity), report.local == fields else {
            return note(
                operation.sequence, entry, "ends as a duplicate, and its report has another version"
            )
        }
        let name = report.copy ?? place.key.name
        let staying = StoredRecordID(entity: place.entity, key: RecordKey(name))
        guard let kept = entries[staying]?.fields, var merged = report.server, kept == merged,
            name < place.key.name
        else {
            return note(operation.sequence, entry, "ends as a duplicate of nothing that is there")
        }
        let isDuplicate = table.unique.contains { attribute in
            let value = kept.value(attribute.field)
            return value != .null && value == fields.value(attribute.field)
        }
        if !isDuplicate {
            note(operation.sequence, entry, "shares no unique value with \(name)")
        }
        for field in fields.ids where merged.value(field) == .null {
            let isSelf = fields.value(field) == .reference(place.key)
            merged[field] = isSelf ? .reference(staying.key) : fields.value(field)
        }
        guard report.outcome == merged else {
            return note(
                operation.sequence, entry, "does not give what it has to the one that stays")
        }
        duplicates += 1
        merging.transaction = operation.transaction
        merging.ended[place.key] = place
        if let entry = entries[staying] { noteWritten(entry, merged) }
        if merged != report.server { merging.adoptions.append((staying, merged)) }
    }

    /// Takes in what becomes of a record in a transaction that merges duplicates.
    mutating func goOnMerging(_ place: StoredRecordID, _ operation: OperationView) {
        guard operation.origin == .rebase, let entry = entries[place], let fields = entry.fields
        else { return }
        merging.adoptions.removeAll { $0.place == place && $0.fields == fields }
        // References follow to the records that stayed, here or on another device.
        for attribute in catalog.table(place.entity)?.references ?? [] {
            guard let name = attribute.schema?.reference?.target,
                catalog.table(named: name)?.unique.isEmpty == false
            else { continue }
            var turned = Fields()
            turned[attribute.field] = fields.value(attribute.field)
            noteWritten(entry, turned)
        }
    }

    /// Checks that a transaction that merged duplicates left nothing out.
    mutating func endMerging() {
        guard let transaction = merging.transaction else { return }
        for adoption in merging.adoptions {
            guard let entry = entries[adoption.place] else { continue }
            note(transaction, entry, "did not take what a duplicate of it had")
        }
        for entry in records {
            guard let table = catalog.table(entry.entity), let fields = entry.fields else {
                continue
            }
            for attribute in table.references {
                guard case .reference(let key) = fields.value(attribute.field),
                    let ended = merging.ended[key], entries[ended]?.fields == nil
                else { continue }
                note(transaction, entry, "refers to a duplicate that ended, \(key.name)")
                doubtful.append(key.name.description)
            }
        }
        merging = Merging()
    }

    /// The unique values that more than one record has.
    package var sharedValues: [String] {
        var holders: [String: [String]] = [:]
        for record in records {
            guard let table = catalog.table(record.entity), let fields = record.fields else {
                continue
            }
            for attribute in table.unique where fields.value(attribute.field) != .null {
                let value = "\(table.name).\(attribute.name)=\(fields.value(attribute.field))"
                holders[value, default: []].append(record.recordName)
            }
        }
        return holders.filter { $0.value.count > 1 }.map { "\($0.key): \($0.value)" }.sorted()
    }
}
