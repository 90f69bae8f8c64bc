import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Brings records of the service into the form of the log: fields by their numbers.
struct ServiceFields {
    let log: LogWriter
    /// The slot of the records' zone, to which their references point.
    let zone: UInt8

    /// Why a record can't be stored at all; nil if it can.
    func rejection(of record: ServiceRecord) -> String? {
        if let violation = RecordName(record.recordName).violation { return violation }
        if record.changeTag.isEmpty || record.changeTag.utf8.count > 255 {
            return "Its change tag is empty or has more than 255 bytes."
        }
        func isImpossible(_ name: String) -> Bool {
            name.isEmpty || name.utf8.count > Catalog.nameBytesMax
        }
        if isImpossible(record.recordType) { return Self.impossibleName }
        return record.fields.withReader { reader in
            var reason: String?
            reader.visit { entry in if reason == nil { reason = rejection(of: entry) } }
            return reason
        }
    }

    private func rejection(of entry: NamedFieldEntry) -> String? {
        let nameBytes = unsafe entry.name.count
        if nameBytes == 0 || nameBytes > Catalog.nameBytesMax { return Self.impossibleName }
        guard entry.mayBeRefused else { return nil }
        do {
            let stored = ServiceMapping.storedValue(entry.decoded, of: AttributeType?.none).value
            log.fields.writer.reset()
            try log.fields.writer.write(stored, of: FieldID(1))
            return nil
        } catch {
            return "Its field \(entry.nameText) can't be stored: \(error)."
        }
    }

    /// The most fields of a record whose names are compared one by one.
    private static let comparedMax = 32

    private static let impossibleName =
        "The name of its type or of a field is empty or has more than "
        + "\(Catalog.nameBytesMax) bytes."

    /// Packs a record of the service into the body buffer.
    ///
    /// - Returns: whether it can't be read as its Swift type.
    func packBody(_ record: ServiceRecord, of table: EntityTable) throws -> Bool {
        var (isUnreadable, isWhole) = try pack(record, of: table)
        if !isWhole {
            let table = try number(record.fields, of: table)
            (isUnreadable, _) = try pack(record, of: table)
        }
        log.fields.pack()
        return isUnreadable
    }

    /// Writes the fields of a record that a table has.
    ///
    /// - Returns: whether the record can't be read, and whether the table has all of its fields.
    private func pack(
        _ record: ServiceRecord, of table: EntityTable
    ) throws -> (isUnreadable: Bool, isWhole: Bool) {
        log.fields.writer.reset()
        return try record.fields.withReader { reader in
            let isMany = record.fields.count > Self.comparedMax
            var many: [String: NamedFieldEntry] = [:]
            if isMany { reader.visit { many[$0.nameText] = $0 } }
            var isUnreadable = false
            var found = 0
            for column in table.columns {
                guard let entry = isMany ? many[column.name] : reader.entry(named: column.name)
                else {
                    if column.isMandatory { isUnreadable = true }
                    continue
                }
                found += 1
                if column.isUnread { continue }
                if entry.tag == .null {
                    if column.isMandatory { isUnreadable = true }
                    continue
                }
                let fits = try ServiceMapping.write(
                    entry, as: column, zone: zone, to: &log.fields.writer)
                if !(fits ?? !column.isMandatory) { isUnreadable = true }
            }
            return (isUnreadable, found == record.fields.count)
        }
    }

    /// The fields of a record of the service by their numbers.
    func fields(
        of record: ServiceRecord, _ table: EntityTable
    ) throws -> (Fields, EntityTable) {
        let table = try number(record.fields, of: table)
        var fields = Fields()
        for (name, value) in record.fields where value != .null {
            guard let attribute = table.attribute(named: name),
                !table.unreadFields.contains(attribute.field)
            else { continue }
            let known = table.stored[Int(attribute.field.rawValue) - 1]
            let stored = ServiceMapping.storedValue(
                value, of: known.isDeclared ? known.schema : nil, zone: zone
            ).value
            fields[attribute.field] = stored
        }
        fields = try ContentHashLookup(log.reader.meta).added(to: fields)
        return (fields, table)
    }

    /// Numbers the names that are new, in a fixed order, as far as there are numbers for them.
    func number(
        _ fields: NamedFields, of table: EntityTable
    ) throws -> EntityTable {
        try log.catalogChanges.numberFields(
            named: fields.keys.filter { table.attribute(named: $0) == nil }.sorted(), of: table)
    }
}

extension NamedFieldEntry {
    /// Whether storing the value may fail; most can't, and need no trial.
    fileprivate var mayBeRefused: Bool {
        switch tag {
        case .string, .bytes, .reference: unsafe payload.count > _FieldWriter.fieldBytesMax
        case .list, .asset, .unknown: true
        default: false
        }
    }
}
