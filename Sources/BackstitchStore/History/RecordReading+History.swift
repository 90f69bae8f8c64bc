public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// The history of a record, newest first: each operation that changed its content, with the record
    /// as it was after it.
    ///
    /// It ends with the insert of the record's first life, or with a baseline if what was before
    /// was compacted. Costs what ``operations(of:limit:)`` does.
    ///
    /// - Parameter limit: The most entries.
    /// - Throws: `unknownEntity`, `invalidName`; `damaged` if an operation can't be read.
    public func history<Model: Entity>(
        of id: EntityID<Model>, limit: Int = .max
    ) throws -> [HistoryEntry] {
        try history(
            of: RecordID(entity: try types.binding(of: Model.self).name, key: id.key), limit: limit)
    }

    /// The history of a record without its Swift type.
    public func history(of record: RecordID, limit: Int = .max) throws -> [HistoryEntry] {
        let table = try reader.table(named: record.entity)
        let operations = try operations(of: record, limit: limit)
        // From the record as it is now, each operation is undone in turn.
        var values = try self.record(record)?.values
        return operations.map { operation in
            let entry = HistoryEntry(operation, values: values, table: table, types: types)
            values = operation.undone(from: values)
            return entry
        }
    }
}

extension Store {
    /// The history of a record, newest first; as ``RecordReading/history(of:limit:)``.
    public func history<Model: Entity>(
        of id: EntityID<Model>, limit: Int = .max
    ) throws -> [HistoryEntry] {
        try read { try $0.history(of: id, limit: limit) }
    }

    /// The history of a record without its Swift type, newest first.
    public func history(of record: RecordID, limit: Int = .max) throws -> [HistoryEntry] {
        try read { try $0.history(of: record, limit: limit) }
    }
}

extension LoggedOperation {
    /// The values of the record before the operation, from those after it; nil if there was none,
    /// or where the log does not tell.
    fileprivate func undone(from after: [String: RecordValue]?) -> [String: RecordValue]? {
        switch kind {
        case .insert, .baseline: return nil
        case .update, .delete:
            var values = after ?? [:]
            for change in changes { values[change.attribute] = change.before }
            return values
        case .acknowledge, .park, .release, .forget, .journal: return after
        }
    }
}
