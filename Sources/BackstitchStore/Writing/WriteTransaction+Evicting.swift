public import BackstitchCore

extension WriteTransaction {
    /// Removes a record from this device and leaves it on the service.
    ///
    /// Pulls don't bring it back until the service has a newer version of it; a sync engine's
    /// `fetchAgain` does at once. References to it stay, and read as nil meanwhile. Delete rules are
    /// not followed. Its log keeps the values until it is compacted.
    ///
    /// - Returns: whether there was such a record.
    /// - Throws: `unsynced` if the service does not have all of it; nothing is changed then.
    @discardableResult
    public func evict<Model: Entity>(_ id: EntityID<Model>) throws -> Bool {
        try log.evict(types.binding(of: Model.self).number, id.key)
    }

    /// Removes each record that a query matches from this device, as an eviction of each would.
    ///
    /// - Returns: the number of records.
    /// - Throws: `unsynced` if the service lacks something of a record. Rethrow then: earlier
    ///   evictions are kept if the transaction commits.
    @discardableResult
    public func evict<Model: Entity>(_ query: Query<Model>) throws -> Int {
        let binding = try types.binding(of: Model.self)
        var count = 0
        try forEachKey(of: query.lowered(), binding, changesOthers: false) { key in
            if try log.evict(binding.number, key) { count += 1 }
        }
        return count
    }
}
