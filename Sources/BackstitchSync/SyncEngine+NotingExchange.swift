import BackstitchCore
import BackstitchStore
import Threading

extension SyncEngine {
    /// Notes which fields and entities are exchanged from now on.
    ///
    /// If these are more than before, everything is fetched once more: what was left out so far
    /// is in no later page. What another selection held back is looked for again.
    func noteExchange() async throws {
        let name = zoneName
        let selection = configuration.selection
        let old = try store.read { try $0.reader.zoneState(name) }
        var new = old
        new.fetchedFields = try store.read { $0.reader.catalog.requestedFields?.sorted() }
        new.exchangedEntities = selection.entities?.sorted()
        new.holdsBack = selection.isAll ? nil : true
        let looksBack = looksBack(old)
        let hasMoreFields = Self.isMore(new.fetchedFields, than: old.fetchedFields)
        let hasMore =
            hasMoreFields || Self.isMore(new.exchangedEntities, than: old.exchangedEntities)
        let fetchesAgain = hasMore && (old.zoneToken != nil || old.isFullFetch)
        if fetchesAgain {
            new.zoneToken = nil
            new.needsPull = true
            new.isFullFetch = true
            if hasMoreFields { new.isCompleting = true }
        }
        guard new != old || looksBack else { return }
        let state = new
        try await write { context in
            if fetchesAgain { try FullFetch(context).forgetFetched() }
            if looksBack { try context.setOutboxFloor(0) }
            try context.setZoneState(state, name)
        }
        hasLookedBack.withLock { $0 = true }
    }

    /// Whether operations before the outbox's floor may have to be pushed: what another selection
    /// held back, or the same one with another version of the schema.
    nonisolated func looksBack(_ state: ZoneState) -> Bool {
        guard state.holdsBack == true || !configuration.selection.isAll else { return false }
        return !hasLookedBack.withLock { $0 }
    }

    /// Whether names have one that others lack; nil stands for all.
    private static func isMore(_ names: [String]?, than others: [String]?) -> Bool {
        guard let others else { return false }
        return names.map { !Set($0).isSubset(of: others) } ?? true
    }
}
