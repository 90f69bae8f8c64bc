public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// The history of a record, newest first: each operation that changed its content, with the record
    /// as it was after it.
    ///
    /// It ends with the insert of the record's first life, or with a baseline if what was before
    /// was compacted. Costs what ``operations(of:entity:limit:)`` does.
    ///
    /// - Parameter limit: The most entries.
    /// - Throws: `unknownEntity`, `invalidName`; `damaged` if an operation can't be read.
    public func history<Model: Entity>(
        of id: EntityID<Model>, limit: Int = .max
    ) throws -> [HistoryEntry] {
        try history(of: id.key, entity: try types.binding(of: Model.self).name, limit: limit)
    }

    /// The history of a record by its key and the name of its entity; see ``history(of:limit:)``.
    public func history(
        of key: RecordKey, entity: String, limit: Int = .max
    ) throws -> [HistoryEntry] {
        let table = try reader.table(named: entity)
        let operations = try operations(of: key, entity: entity, limit: limit)
        // From the record as it is now, each operation is undone in turn.
        var values = try record(key, of: entity)?.values
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

    /// The history of a record by its key and the name of its entity; as
    /// ``RecordReading/history(of:limit:)``.
    public func history(
        of key: RecordKey, entity: String, limit: Int = .max
    ) throws -> [HistoryEntry] {
        try read { try $0.history(of: key, entity: entity, limit: limit) }
    }
}

extension LoggedOperation {
    /// The values of the record before the operation, from those after it; nil if there was none,
    /// or where the log does not tell.
    fileprivate func undone(from after: [String: Value]?) -> [String: Value]? {
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
