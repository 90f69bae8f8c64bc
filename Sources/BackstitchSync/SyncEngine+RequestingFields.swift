import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Notes which fields pulls ask for from now on.
    ///
    /// Where these are more than before, everything is fetched once more: what was left out so far
    /// is in no later page.
    func noteRequestedFields() async throws {
        let name = configuration.zoneName
        let (state, names) = try store.read { transaction in
            let reader = transaction.reader
            return (try reader.zoneState(name), reader.catalog.requestedFields?.sorted())
        }
        guard names != state.fetchedFields else { return }
        let before = state.fetchedFields.map(Set.init)
        let isMore =
            before.map { known in names.map { !known.isSuperset(of: $0) } ?? true } ?? false
        try await store.writeContext { context in
            var state = try context.reader.zoneState(name)
            state.fetchedFields = names
            if isMore, state.zoneToken != nil || state.isFullFetch {
                state.zoneToken = nil
                state.needsPull = true
                state.isFullFetch = true
                state.isCompleting = true
                try context.forgetSeen()
            }
            try context.setZoneState(state, name)
        }
    }
}
