public import BackstitchCore

/// What a save did.
public enum SaveOutcome: Hashable, Sendable {
    /// The record is new.
    case inserted
    /// Attributes changed.
    case updated
    /// The record was the same already, and nothing was appended.
    case unchanged
}

extension WriteTransaction {
    /// Inserts the record, or updates it where it exists: only changed attributes become an
    /// operation, and none if nothing changed.
    ///
    /// - Returns: what was done.
    /// - Throws: `unknownEntity`, `invalidName`, `invalidValue`; the store is unchanged then. The
    ///   write as a whole throws `notUnique` at its end where another record has the same value of
    ///   a unique attribute.
    @discardableResult
    public func save<Model: Entity>(_ model: Model) throws -> SaveOutcome {
        try write(model, mayInsert: true, mayUpdate: true)
    }

    /// Inserts a record that must not exist.
    ///
    /// - Throws: `alreadyExists`, or what ``save(_:)`` throws.
    public func insert<Model: Entity>(_ model: Model) throws {
        try write(model, mayInsert: true, mayUpdate: false)
    }

    /// Updates a record that must exist.
    ///
    /// - Returns: whether anything changed.
    /// - Throws: `notFound`, or what ``save(_:)`` throws.
    @discardableResult
    public func update<Model: Entity>(_ model: Model) throws -> Bool {
        try write(model, mayInsert: false, mayUpdate: true) == .updated
    }

    @discardableResult
    private func write<Model: Entity>(
        _ model: Model, mayInsert: Bool, mayUpdate: Bool
    ) throws -> SaveOutcome {
        let binding = try types.binding(of: Model.self)
        let key = model.id.key
        context.fieldWriter.reset(layout: binding.layout)
        do {
            try model.write(to: &context.fieldWriter)
        } catch let error as FieldError {
            let name = binding.attributeName(
                at: error.index >= 0 ? error.index : context.fieldWriter.lastIndex)
            throw StoreError(
                .invalidValue,
                "\(binding.name).\(name) can't be saved: \(error). Nothing was saved.")
        }
        context.bodyBuffer.removeAll()
        context.fieldWriter.finish(into: &context.bodyBuffer)
        let row = try reader.row(binding.number, key)
        guard let row, !row.isDeleted else {
            guard mayInsert else {
                throw StoreError(
                    .notFound,
                    "There is no \(binding.name) record \(key) to update. Use save or insert.")
            }
            try context.checkName(key, of: binding.number)
            try context.insertAnew(binding.number, key, over: row)
            context.noteUniques(of: binding.number, key, isNew: true)
            return .inserted
        }
        guard mayUpdate else {
            throw StoreError(
                .alreadyExists,
                "The \(binding.name) record \(key) exists already. Use save or update.")
        }
        let previous = row.lastSequence
        guard try context.compare(row, keepingAllBut: binding.layout) else { return .unchanged }
        context.noteUniques(of: binding.number, key, isNew: false)
        try context.appendUpdate(
            origin: .local, entity: binding.number, key: key, previous: previous)
        return .updated
    }
}

extension WriteContext {
    /// Refuses record names that the service would refuse, and names that a record of another
    /// entity has: they are unique within a zone.
    func checkName(_ key: RecordKey, of entity: EntityNumber) throws {
        if let violation = key.name.violation { throw StoreError(.invalidName, violation) }
        for table in catalog.tables where table.number != entity {
            if let row = try reader.row(table.number, key), !row.isDeleted {
                throw StoreError(
                    .invalidName,
                    "A \(table.name) record has the name \(key) already, and names are unique "
                        + "within a zone. Choose another, such as one with the entity's name in it."
                )
            }
        }
    }

    /// Appends an insert of the application's.
    ///
    /// - Parameter row: What is left of an earlier record of the name.
    func insertAnew(_ entity: EntityNumber, _ key: RecordKey, over row: RowView?) throws {
        let previous = row?.lastSequence ?? 0
        if let row, row.flags.contains(.isEvicted) {
            if isLocalOnly {
                throw StoreError(
                    .alreadyExists,
                    "The service has a record \(key), which was taken off this device; another one "
                        + "of the name can't stay here. Fetch it again, or choose another name.")
            }
            // Should this end before it is pushed, the one on the service is to come back.
            try noteEvictedVersion(of: key, modifiedMilliseconds: row.modifiedMilliseconds)
        }
        try insertBody(origin: .local, entity: entity, key: key, previous: previous)
    }

    /// Appends an insert of the fields in the body buffer.
    func insertBody(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, previous: UInt64,
        flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        try append(
            .insert, origin: origin, entity: entity, key: key, previous: previous, flags: flags,
            stamp: stamp, conflict: conflict
        ) { $0.append(bodyBuffer.bytes) }
    }

    /// Fills the two writers with the fields in which the body buffer differs from a row.
    ///
    /// - Parameter layout: Fields of the row outside of it are kept; nil keeps none.
    /// - Returns: whether there are any.
    func compare(_ row: RowView, keepingAllBut layout: FieldLayout?) throws -> Bool {
        guard let old = row.fields, let new = PackedFields(bodyBuffer.bytes) else {
            throw StoreError(.damaged, "A row can't be read. Run rebuild to make the tables anew.")
        }
        if old.bytes.holdsSameBytes(as: new.bytes) { return false }
        guard old.isAscending, new.isAscending else { throw FieldError(.damaged) }
        beforeWriter.reset()
        afterWriter.reset()
        var oldPosition = 0
        var newPosition = 0
        while oldPosition < old.count || newPosition < new.count {
            let oldField = oldPosition < old.count ? old.field(at: oldPosition) : nil
            let newField = newPosition < new.count ? new.field(at: newPosition) : nil
            if let newField, oldField.map({ newField < $0 }) ?? true {
                try beforeWriter.write(.null, of: newField, keepsNull: true)
                try afterWriter.write(raw: try new.rawValue(at: newPosition), of: newField)
                newPosition += 1
            } else if let oldField, newField.map({ oldField < $0 }) ?? true {
                if layout?.fields.contains(oldField) ?? true {
                    try beforeWriter.write(raw: try old.rawValue(at: oldPosition), of: oldField)
                    try afterWriter.write(.null, of: oldField, keepsNull: true)
                }
                oldPosition += 1
            } else if let field = oldField {
                let before = try old.rawValue(at: oldPosition)
                let after = try new.rawValue(at: newPosition)
                if !before.holdsSameBytes(as: after) {
                    try beforeWriter.write(raw: before, of: field)
                    try afterWriter.write(raw: after, of: field)
                }
                oldPosition += 1
                newPosition += 1
            }
        }
        return !afterWriter.isEmpty
    }
}
