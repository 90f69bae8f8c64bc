public import BackstitchCore

/// The result of a write of one record, and its place in the log.
public struct WriteResult<Value: Sendable>: Sendable {
    /// The result of the write, such as the ``WriteTransaction/SaveOutcome`` of a save.
    public let value: Value
    /// The transaction, to undo it by; nil if nothing changed.
    public let transaction: UInt64?
    /// The last operation of the store after the write. Pass it to
    /// `SyncEngine.waitUntilSynced(operation:)` to wait until the write is synchronised.
    public let lastSequence: UInt64

    init(value: Value, transaction: UInt64?, lastSequence: UInt64) {
        self.value = value
        self.transaction = transaction
        self.lastSequence = lastSequence
    }
}

extension WriteResult: Equatable where Value: Equatable {}

extension Store {
    /// Inserts a record, or updates it if it exists, in a transaction of its own.
    ///
    /// ```swift
    /// var ada = Employee(name: "Ada")
    /// try await store.save(ada)
    /// ada.salary = 4200
    /// try await store.save(ada)  // only the salary becomes an operation
    /// ```
    ///
    /// - Parameters:
    ///   - author: As for a write.
    ///   - context: As for a write.
    /// - Throws: what ``WriteTransaction/save(_:)`` and
    ///   ``write(author:context:isLocalOnly:_:)-(_,_,_,(WriteTransaction)->_)`` throw.
    @discardableResult
    public func save<Model: Entity>(
        _ model: Model, author: String? = nil, context: String = ""
    ) async throws -> WriteResult<WriteTransaction.SaveOutcome> {
        try await write(author: author, context: context) { try $0.result($0.save(model)) }
    }

    /// Inserts a record, or updates it if it exists, in a transaction of its own, from code that is not
    /// asynchronous.
    @discardableResult
    public func save<Model: Entity>(
        _ model: Model, author: String? = nil, context: String = ""
    ) throws -> WriteResult<WriteTransaction.SaveOutcome> {
        try write(author: author, context: context) { try $0.result($0.save(model)) }
    }

    /// Deletes a record in a transaction of its own, and does to the records that refer to it what
    /// their delete rules say.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: what ``WriteTransaction/delete(_:)`` and
    ///   ``write(author:context:isLocalOnly:_:)-(_,_,_,(WriteTransaction)->_)`` throw.
    @discardableResult
    public func delete<Model: Entity>(
        _ id: EntityID<Model>, author: String? = nil, context: String = ""
    ) async throws -> WriteResult<Bool> {
        try await write(author: author, context: context) { try $0.result($0.delete(id)) }
    }

    /// Deletes a record in a transaction of its own, from code that is not asynchronous.
    @discardableResult
    public func delete<Model: Entity>(
        _ id: EntityID<Model>, author: String? = nil, context: String = ""
    ) throws -> WriteResult<Bool> {
        try write(author: author, context: context) { try $0.result($0.delete(id)) }
    }
}

extension WriteTransaction {
    fileprivate borrowing func result<Value: Sendable>(_ value: Value) -> WriteResult<Value> {
        WriteResult(value: value, transaction: id, lastSequence: lastSequence)
    }
}
