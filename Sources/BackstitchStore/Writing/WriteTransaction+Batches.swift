public import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Changes each record that a query matches, as a save of each would: each changed record gets
    /// an operation, others get none.
    ///
    /// The query is answered before anything is changed: a record is changed once, even if the
    /// change makes it match again. Keys are collected in parts if the query is read in the order
    /// of its records; otherwise 20 to 40 bytes are held for each.
    ///
    /// All of it is one transaction, and other writes wait for its end, the longer the more records it changes; see
    /// ``StoreConfiguration/operationsPerWriteMax``. If it need not be one,
    /// ``Store/update(_:inPartsOf:author:context:progress:set:)`` lets others in between.
    ///
    /// ```swift
    /// let count = try transaction.update(query) { $0.age += 1 }
    /// ```
    ///
    /// - Parameter change: Changes a record; it must keep the id.
    /// - Returns: the number of records that changed.
    /// - Throws: what ``save(_:)`` and `change` throw; `invalidValue` if a change replaces the id;
    ///   `invalidQuery` if the query can't be answered. If it throws, rethrow: earlier changes are
    ///   kept if the transaction commits.
    @discardableResult
    public func update<Model: Entity>(
        _ query: Query<Model>, set change: (inout Model) throws -> Void
    ) throws -> Int {
        let binding = try types.binding(of: Model.self)
        var count = 0
        try forEachKey(of: query.lowered(), binding, changesOthers: false) { key in
            if try update(EntityID<Model>(key: key), binding, change) { count += 1 }
        }
        return count
    }

    /// Changes a record if it is there.
    ///
    /// - Returns: whether it is another one now.
    func update<Model: Entity>(
        _ id: EntityID<Model>, _ binding: TypeBinding, _ change: (inout Model) throws -> Void
    ) throws -> Bool {
        guard var model = try reader.find(id, binding) else { return false }
        try change(&model)
        guard model.id == id else {
            throw StoreError(
                .invalidValue,
                "An update by query replaced the id of the \(binding.name) record \(id.key). "
                    + "Delete the record and insert another one instead.")
        }
        return try update(model)
    }

    /// Sets an attribute of each record that a query matches.
    ///
    /// Everything is as in the update with a closure.
    ///
    /// - Returns: the number of records that had another value.
    @discardableResult
    public func update<Model: Entity, Attribute: AttributeValue>(
        _ query: Query<Model>,
        set keyPath: any WritableKeyPath<Model, Attribute> & Sendable, to value: Attribute
    ) throws -> Int {
        try update(query) { $0[keyPath: keyPath] = value }
    }

    /// Deletes each record that a query matches, one after another in the order of the answer, and
    /// applies the delete rules of records that refer to it.
    ///
    /// All of it is one transaction, and other writes wait for its end, some 40 µs a record; see
    /// ``StoreConfiguration/operationsPerWriteMax``. If it need not be one,
    /// ``Store/delete(_:inPartsOf:author:context:progress:)`` lets others in between.
    ///
    /// - Returns: the number of matching records, including those that a delete rule had already
    ///   deleted; other records that a rule deletes don't count.
    /// - Throws: `deleteDenied` if a rule forbids one of the deletes. Rethrow then: earlier deletes
    ///   are kept if the transaction commits.
    @discardableResult
    public func delete<Model: Entity>(_ query: Query<Model>) throws -> Int {
        let binding = try types.binding(of: Model.self)
        var count = 0
        let changesOthers = binding.schema.attributes.contains { $0.reference != nil }
        try forEachKey(of: query.lowered(), binding, changesOthers: changesOthers) { key in
            count += 1
            _ = try log.delete(binding.number, key)
        }
        return count
    }
}

extension WriteTransaction {
    /// The most keys that are collected before they are worked on, if parts are possible.
    static var partCountMax: Int { 4096 }

    /// Calls `body` with the key of each record of an answer. No cursor is open meanwhile, so that
    /// it may write.
    ///
    /// - Parameter changesOthers: Whether `body` may change other records of the entity, so that
    ///   the whole answer has to be known before the first call.
    func forEachKey(
        of query: RecordQuery, _ binding: TypeBinding, changesOthers: Bool,
        _ body: (RecordKey) throws -> Void
    ) throws {
        let isWhole = query.limitCount == nil && query.offsetCount == 0
        let plan = try QueryPlan(
            isWhole && !changesOthers ? query.unsorted : query,
            in: reader.entityBinding(binding.number), needsRows: false, on: reader)
        // Parts are behind one another by record key, which a change of a record keeps.
        // If related records decide, a part may change what belongs to the next.
        let isInParts = isWhole && !changesOthers && plan.isOrderedByKey && !plan.asksOthers
        var position: QueryPosition?
        while true {
            let part =
                isInParts
                ? plan.page(after: position, offset: 0, limit: Self.partCountMax) : plan
            var keys = StoredKeys()
            try unsafe QueryExecutor.visitKeys(part, on: reader) { key in
                unsafe keys.append(key)
                return true
            }
            try keys.forEach(body)
            guard isInParts, keys.count == Self.partCountMax else { return }
            position = QueryPosition(values: [], firstEnd: 0, indexValue: [], key: keys.last)
        }
    }
}

/// Record keys one after another, in 18 bytes each if the name is a UUID.
private struct StoredKeys: ~Copyable {
    private var data = ByteBuffer(capacity: 4096)
    private(set) var count = 0
    private var lastStart = 0

    mutating func append(_ key: UnsafeRawBufferPointer) {
        lastStart = data.count
        unsafe data.append(key)
        count += 1
    }

    /// The stored bytes of the last key.
    var last: [UInt8] { unsafe [UInt8](data.bytes.part(lastStart..<data.count)) }

    func forEach(_ body: (RecordKey) throws -> Void) throws {
        var offset = 0
        while offset < data.count {
            let key = try unsafe RecordKey.stored(data.bytes.part(offset..<data.count))
            offset += key.byteCount
            try body(key)
        }
    }
}
