public import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Inserts a record without its Swift type, or updates it if it exists, as a save of the type
    /// would. Only changed attributes become an operation; if nothing changed, it appends none.
    ///
    /// A declared attribute that is not among the values loses its value. Attributes that no schema
    /// declares keep their values unless they are among the values; they may hold any value. Values
    /// are taken if they mean the same: an integer for a double, text for a UUID.
    ///
    /// - Parameters:
    ///   - values: The values by attribute name.
    ///   - key: The record's zone and name.
    ///   - entity: The name of an entity that the store knows.
    ///   - addsAttributes: Whether attributes that the store does not know are added to it, as for
    ///     records from the service, up to 4,000 attributes of an entity. Otherwise they are refused.
    /// - Returns: what was done.
    /// - Throws: `unknownEntity`, `unknownZone`, `invalidName`, `invalidValue`, `crossesZones`; nothing is changed
    ///   then.
    @discardableResult
    public func save(
        _ values: [String: RecordValue], as key: RecordKey, of entity: String,
        addsAttributes: Bool = false
    ) throws -> WriteTransaction.SaveOutcome {
        let table = try reader.table(named: entity)
        let fields = try fields(values, of: table, addsAttributes: addsAttributes)
        log.fields.writer.reset(zone: key.zone)
        for (field, value) in fields {
            do throws(FieldError) {
                try log.fields.writer.write(value, of: field)
            } catch {
                throw table.refusal(log.catalog.table(named: entity), field, "\(error)")
            }
        }
        log.fields.pack()
        let row = try log.row(table.number, key)
        guard let row, !row.isDeleted else {
            try log.checkName(key, of: table.number)
            try log.insertAnew(table.number, key, over: row)
            return .inserted
        }
        let previous = row.lastSequence
        let declared = FieldLayout(fields: table.declaredFields.sorted())
        guard try log.fields.compare(row, keepingAllBut: declared) else { return .unchanged }
        let mark = try table.mark(saving: log.fields, over: row, replacing: declared)
        try log.appendUpdate(
            origin: .local, entity: table.number, key: key, previous: previous, flags: mark)
        return .updated
    }

    /// The values by field, in the order of the fields and in the attributes' types.
    private func fields(
        _ values: [String: RecordValue], of table: EntityTable, addsAttributes: Bool
    ) throws -> [(FieldID, RecordValue)] {
        for attribute in table.attributes
        where attribute.isMandatory && (values[attribute.name] ?? .null) == .null {
            throw StoreError(
                .invalidValue,
                "\(table.name).\(attribute.name) has no value and needs one. Give it one; nothing "
                    + "was saved.")
        }
        var fields: [(FieldID, RecordValue)] = []
        var added: [(name: String, value: RecordValue)] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) where value != .null {
            guard let attribute = table.attribute(named: name) else {
                guard addsAttributes, !name.isEmpty, name.utf8.count <= Catalog.nameBytesMax else {
                    throw StoreError(.invalidValue, "\(table.name) has no attribute \(name).")
                }
                added.append((name, value))
                continue
            }
            let type = attribute.isDeclared ? attribute.schema?.type : nil
            do throws(ValueError) {
                fields.append((attribute.field, try value.saved(as: type)))
            } catch {
                throw StoreError(
                    .invalidValue, "\(table.name).\(name) can't be saved: \(error.reason).")
            }
        }
        fields += try addAttributes(added, to: table)
        return fields.sorted { $0.0 < $1.0 }
    }

    /// Numbers attributes that the entity does not have, and gives their values by field.
    ///
    /// They are numbered last and at once, so that a record that is refused numbers nothing.
    private func addAttributes(
        _ added: [(name: String, value: RecordValue)], to table: EntityTable
    ) throws -> [(FieldID, RecordValue)] {
        guard !added.isEmpty else { return [] }
        let room = max(0, Catalog.undeclaredMax - table.attributes.count)
        guard added.count <= room else {
            throw StoreError(
                .invalidValue,
                "\(table.name) can't get \(added.count) attributes that no schema declares: there "
                    + "is room for \(room) more. Save fewer, or declare the attributes in the "
                    + "schema.")
        }
        var values: [RecordValue] = []
        for (name, value) in added {
            do throws(ValueError) {
                values.append(try value.saved(as: nil))
            } catch {
                throw StoreError(
                    .invalidValue, "\(table.name).\(name) can't be saved: \(error.reason).")
            }
        }
        // They get the next numbers, in their order.
        let first = table.attributes.count
        let changed = try log.catalogChanges.numberFields(named: added.map(\.name), of: table)
        return zip(changed.attributes[first...], values).map { ($0.field, $1) }
    }
}

extension EntityTable {
    fileprivate func refusal(
        _ now: EntityTable?, _ field: FieldID, _ reason: String
    ) -> StoreError {
        StoreError(
            .invalidValue,
            "\(name).\((now ?? self).attributeName(field)) can't be saved: \(reason).")
    }
}
