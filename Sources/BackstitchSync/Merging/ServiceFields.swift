import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Brings records of the service into the form of the log: fields by their numbers.
struct ServiceFields {
    let log: LogWriter

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
        for (name, value) in record.fields {
            if isImpossible(name) { return Self.impossibleName }
            guard value.mayBeRefused else { continue }
            do {
                let stored = ServiceMapping.storedValue(value, of: AttributeType?.none).value
                log.fields.writer.reset()
                try log.fields.writer.write(stored, of: FieldID(1))
            } catch {
                return "Its field \(name) can't be stored: \(error)."
            }
        }
        return nil
    }

    private static let impossibleName =
        "The name of its type or of a field is empty or has more than "
        + "\(Catalog.nameBytesMax) bytes."

    /// Packs a record of the service into the body buffer.
    ///
    /// - Returns: whether it can't be read as its Swift type.
    func packBody(_ record: ServiceRecord, of table: EntityTable) throws -> Bool {
        var (isUnreadable, isWhole) = try pack(record, of: table)
        if !isWhole {
            let table = try number(record.fields.keys, of: table)
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
        var isUnreadable = false
        var found = 0
        for column in table.columns {
            guard let value = record.fields[column.name] else {
                if column.isMandatory { isUnreadable = true }
                continue
            }
            found += 1
            if column.isUnread { continue }
            if case .null = value {
                if column.isMandatory { isUnreadable = true }
                continue
            }
            let fits = try ServiceMapping.write(
                value, as: column, to: &log.fields.writer)
            if !(fits ?? !column.isMandatory) { isUnreadable = true }
        }
        return (isUnreadable, found == record.fields.count)
    }

    /// The fields of a record of the service by their numbers.
    func fields(
        of record: ServiceRecord, _ table: EntityTable
    ) throws -> (Fields, EntityTable) {
        let table = try number(record.fields.keys, of: table)
        var fields = Fields()
        for (name, value) in record.fields where value != .null {
            guard let attribute = table.attribute(named: name),
                !table.unreadFields.contains(attribute.field)
            else { continue }
            let known = table.stored[Int(attribute.field.rawValue) - 1]
            let stored = ServiceMapping.storedValue(
                value, of: known.isDeclared ? known.schema : nil
            ).value
            fields[attribute.field] = stored
        }
        fields = try KnownContents(log.reader.meta).added(to: fields)
        return (fields, table)
    }

    /// Numbers the names that are new, in a fixed order, as far as there are numbers for them.
    func number(
        _ names: Dictionary<String, ServiceValue>.Keys, of table: EntityTable
    ) throws -> EntityTable {
        try log.catalogChanges.numberFields(
            named: names.filter { table.attribute(named: $0) == nil }.sorted(), of: table)
    }
}

extension ServiceValue {
    /// Whether storing the value may fail; most can't, and need no trial.
    fileprivate var mayBeRefused: Bool {
        switch self {
        case .string(let text): text.utf8.count > _FieldWriter.fieldBytesMax
        case .bytes(let bytes): bytes.count > _FieldWriter.fieldBytesMax
        case .list, .asset, .unknown: true
        case .reference(let reference):
            reference.recordName.utf8.count > _FieldWriter.fieldBytesMax
        case .null, .int64, .double, .timestamp, .location: false
        }
    }
}
