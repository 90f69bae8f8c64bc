public import BackstitchCore
import BackstitchLog

extension Store {
    /// Changes each record that a query matches, in parts: each part is a transaction of its own,
    /// and other writes come in between.
    ///
    /// One transaction for all records would make all other writes wait until its end. The records
    /// are selected once, at the beginning; each is changed once, in the order of the answer. A
    /// record that no longer matches when its turn comes is left out. 20 to 260 bytes of memory are
    /// needed for each record.
    ///
    /// **Other writes and readers see some parts done and others not.** If it throws, or the
    /// process ends, finished parts stay: call it again to continue. So write a query that excludes
    /// finished records, or a change that can be repeated.
    ///
    /// ```swift
    /// let old = Query<Note>().where(#Predicate { !$0.isArchived && $0.created < limit })
    /// try await store.update(old, inPartsOf: 1_000) { $0.isArchived = true }
    /// ```
    ///
    /// - Parameters:
    ///   - recordsMax: The most records of a part. Other writes wait for the end of a part.
    ///   - author: What the operations carry as their author; nil takes the configuration's.
    ///   - context: What the writes are for; each part has it.
    ///   - progress: Called after each part with the records that are done, and those of the answer.
    ///   - change: Changes a record; it must keep the id.
    /// - Returns: the number of records that changed.
    /// - Throws: as the update by query of a write; `CancellationError` between two parts.
    @discardableResult
    public func update<Model: Entity>(
        _ query: Query<Model>, inPartsOf recordsMax: Int, author: String? = nil,
        context: String = "", progress: (_ done: Int, _ total: Int) -> Void = { _, _ in },
        set change: @escaping @Sendable (inout Model) throws -> Void
    ) async throws -> Int {
        try await WriteInParts(store: self, author: author, context: context).run(
            query, recordsMax, progress
        ) { transaction, binding, key in
            try transaction.update(EntityID<Model>(key: key), binding, change)
        }
    }

    /// Deletes each record that a query matches, in parts: each part is a transaction of its own,
    /// and other writes come in between.
    ///
    /// Everything is as in ``update(_:inPartsOf:author:context:progress:set:)``, and so are the parameters;
    /// each delete applies the delete rules of records that refer to it. A record is deleted in one part
    /// with all that its rules delete.
    ///
    /// - Parameter recordsMax: The most records of a part; at 40 µs a record, 1,000 of them keep other
    ///   writes waiting for about 40 ms.
    /// - Returns: the number of records of the answer that were deleted; those that went with one of
    ///   the others don't count.
    /// - Throws: as the delete by query of a write; `CancellationError` between two parts.
    @discardableResult
    public func delete<Model: Entity>(
        _ query: Query<Model>, inPartsOf recordsMax: Int, author: String? = nil,
        context: String = "", progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> Int {
        try await WriteInParts(store: self, author: author, context: context).run(
            query, recordsMax, progress
        ) { transaction, binding, key in
            try transaction.log.delete(binding.number, key)
        }
    }
}

/// A change of the records of an answer, a part of them in each transaction.
private struct WriteInParts {
    let store: Store
    let author: String?
    let context: String

    /// Calls `body` with the key of each record of an answer that still fits when its turn comes.
    ///
    /// - Returns: how often `body` returned true.
    func run<Model: Entity>(
        _ query: Query<Model>, _ recordsMax: Int, _ progress: (_ done: Int, _ total: Int) -> Void,
        _ body:
            @escaping @Sendable (borrowing WriteTransaction, TypeBinding, RecordKey) throws -> Bool
    ) async throws -> Int {
        guard recordsMax > 0 else {
            throw StoreError(
                .invalidValue, "A part has \(recordsMax) records: give 1 or more.")
        }
        let lowered = try query.lowered()
        let (keys, total) = try store.read { try $0.storedKeys(of: lowered, Model.self) }
        var offset = 0
        var done = 0
        var changed = 0
        while offset < keys.count {
            try Task.checkCancellation()
            var part: [RecordKey] = []
            while offset < keys.count, part.count < recordsMax {
                let key = try unsafe keys.withUnsafeBytes {
                    try unsafe RecordKey.stored($0.part(offset..<keys.count))
                }
                offset += key.byteCount
                part.append(key)
            }
            let count = try await store.write(author: author, context: context) {
                [part] transaction in
                try transaction.forEach(part, fitting: lowered, Model.self, body)
            }
            changed += count
            done += part.count
            progress(done, total)
        }
        return changed
    }
}

extension ReadTransaction {
    /// The stored keys of an answer, one after another, and their number.
    fileprivate borrowing func storedKeys<Model: Entity>(
        of query: RecordQuery, _ type: Model.Type
    ) throws -> (keys: [UInt8], count: Int) {
        let binding = try types.binding(of: type)
        let plan = try QueryPlan(
            query, in: reader.entityBinding(binding.number), needsRows: false, on: reader)
        var keys: [UInt8] = []
        var count = 0
        try unsafe QueryExecutor.visitKeys(plan, on: reader) { key in
            unsafe keys.append(contentsOf: key)
            count += 1
            return true
        }
        return (keys, count)
    }
}

extension WriteTransaction {
    /// Calls `body` for the records that are there and fit the conditions of a query.
    fileprivate borrowing func forEach<Model: Entity>(
        _ keys: [RecordKey], fitting query: RecordQuery, _ type: Model.Type,
        _ body: (borrowing WriteTransaction, TypeBinding, RecordKey) throws -> Bool
    ) throws -> Int {
        let binding = try types.binding(of: type)
        let entity = binding.number
        let filter = try QueryFilter(query, in: reader.entityBinding(entity))
        let examiner = reader.examiner(of: entity)
        var count = 0
        for key in keys {
            guard let row = try reader.row(entity, key), try reader.isReadable(row, by: examiner),
                try unsafe key.bytes.withUnsafeBytes({
                    try unsafe filter.holds(key: $0, body: row.bodyBytes, on: reader)
                })
            else { continue }
            if try body(self, binding, key) { count += 1 }
        }
        return count
    }
}
