import Threading

/// Where a round through all databases is, which has what is due go also in those that nobody writes to.
///
/// A write removes what is due in its own database. Every few writes look at others, so that an idle hub
/// does nothing, and a request waits for one more write at most.
final class SweepRound: Sendable {
    /// How many writes pass between two looks, and how many databases a look goes on.
    static let writesPerLook = 16

    private let state = Locked((writes: 0, position: HubKey?.none))

    /// The name of the database to begin at, if it is time for a look; it may be the first one's.
    func nextLook() -> HubKey? {
        state.withLock { state in
            state.writes += 1
            guard state.writes.isMultiple(of: Self.writesPerLook) else { return nil }
            return state.position ?? HubKey(.global, .databaseName)
        }
    }

    /// Notes where the next look begins; nil for the first database.
    func goOn(at position: HubKey?) { state.withLock { $0.position = position } }
}
