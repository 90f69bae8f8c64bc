public import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// The effect of a save.
    public enum SaveOutcome: Hashable, Sendable {
        /// The record is new.
        case inserted
        /// Attributes changed.
        case updated
        /// The record was the same already, and nothing was appended.
        case unchanged
    }
}

extension WriteTransaction {
    /// Inserts the record, or updates it if it exists. Only changed attributes become an operation;
    /// if nothing changed, it appends none.
    ///
    /// - Returns: what was done.
    /// - Throws: `unknownEntity`, `unknownZone`, `invalidName`, `invalidValue`, `crossesZones`; the store is
    ///   unchanged then. The write as a whole throws `notUnique` at its end if another record has the same value of
    ///   a unique attribute.
    @discardableResult
    public func save<Model: Entity>(_ model: Model) throws -> WriteTransaction.SaveOutcome {
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
    ) throws -> WriteTransaction.SaveOutcome {
        let binding = try types.binding(of: Model.self)
        let key = model.id.key
        log.fields.writer.reset(layout: binding.layout, zone: key.zone)
        if binding.layout.external != nil { try noteKnownFiles(binding, key) }
        do {
            try model.write(to: &log.fields.writer)
        } catch let error as FieldError {
            let name = binding.attributeName(
                at: error.index >= 0 ? error.index : log.fields.writer.lastIndex)
            throw StoreError(
                .invalidValue,
                "\(binding.name).\(name) can't be saved: \(error). Nothing was saved.")
        }
        log.fields.pack()
        let row = try log.row(binding.number, key)
        guard let row, !row.isDeleted else {
            guard mayInsert else {
                throw StoreError(
                    .notFound,
                    "There is no \(binding.name) record \(key) to update. Use save or insert.")
            }
            try log.checkName(key, of: binding.number)
            try keepExternal(of: binding)
            try log.insertAnew(binding.number, key, over: row)
            context.noteUniques(of: binding.number, key, isNew: true)
            return .inserted
        }
        guard mayUpdate else {
            throw StoreError(
                .alreadyExists,
                "The \(binding.name) record \(key) exists already. Use save or update.")
        }
        let previous = row.lastSequence
        try keepExternal(of: binding)
        guard try log.fields.compare(row, keepingAllBut: binding.layout) else { return .unchanged }
        context.noteUniques(of: binding.number, key, isNew: false)
        let mark = try log.catalog.table(binding.number)?
            .mark(saving: log.fields, over: row, replacing: binding.layout)
        try log.appendUpdate(
            origin: .local, entity: binding.number, key: key, previous: previous,
            flags: mark ?? [])
        return .updated
    }

    /// Tells the writer of the files that a record has before.
    private func noteKnownFiles(_ binding: TypeBinding, _ key: RecordKey) throws {
        guard let row = try log.row(binding.number, key), !row.isDeleted, let fields = row.fields
        else { return }
        for field in binding.layout.fields {
            guard case .asset(let asset)? = try fields.value(of: field)?.decoded(),
                let content = try log.reader.meta.content(of: asset)
            else { continue }
            log.fields.writer.external.known[field] = (content.text, asset)
        }
    }

    private func keepExternal(of binding: TypeBinding) throws {
        guard !log.fields.writer.external.values.isEmpty else { return }
        guard binding.layout.external != nil else {
            throw StoreError(
                .inaccessible,
                "A store in memory keeps no files, and so no external attributes. Open a store in a "
                    + "folder.")
        }
        try context.keepExternal()
    }
}

extension StoreError {
    fileprivate static let unknownZone = StoreError(
        .unknownZone,
        "The record is to be saved in a zone that the store does not have, or that ended. Take a zone "
            + "that Store.zones() lists.")
}

extension LogWriter {
    /// Refuses records of zones that the store does not have, record names that the service would
    /// refuse, and names that a record of another entity has: they are unique within a zone.
    package func checkName(_ key: RecordKey, of entity: EntityNumber) throws {
        if key.zone != 0, catalog.catalog.zone(key.zone) == nil { throw StoreError.unknownZone }
        if let violation = key.name.violationIfNew { throw StoreError(.invalidName, violation) }
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
        let evictedMilliseconds = row.flatMap { row in
            row.flags.contains(.isEvicted) ? row.modifiedMilliseconds : nil
        }
        if evictedMilliseconds != nil, isLocalOnly {
            throw StoreError(
                .alreadyExists,
                "The service has a record \(key), which was taken off this device; another one "
                    + "of the name can't stay here. Fetch it again, or choose another name.")
        }
        try insertBody(
            origin: .local, entity: entity, key: key, previous: row?.lastSequence ?? 0,
            flags: catalog.table(entity)?.mark(saving: fields) ?? [])
        if let evictedMilliseconds {
            // Should this end before it is pushed, the one on the service is to come back.
            try noteUnmergedVersion(of: key, modifiedMilliseconds: evictedMilliseconds)
        }
    }
}
