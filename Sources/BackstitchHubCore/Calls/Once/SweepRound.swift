import Threading

/// The position of a round through all databases, which removes what is due also from databases that get no
/// writes.
///
/// A write removes what is due in its own database. Every few writes look at others, so that an idle hub
/// does nothing, and a request waits for one more write at most. Where hubs share a database one of them
/// does it for all, and counts what others write.
final class SweepRound: Sendable {
    /// How many writes pass between two looks, and how many databases a look visits.
    static let writesPerLook = 16

    /// How often it is time for what is due each hour, in milliseconds.
    static let hourMilliseconds: Int64 = 3_600_000

    private let state = Locked((writes: 0, position: HubKey?.none))
    /// When the hour began, by the steady clock; nil before the first one.
    private let hour = Locked<Int64?>(nil)

    /// Whether an hour begins.
    func beginsHour(now: Int64) -> Bool {
        hour.withLock { hour -> Bool in
            if let began = hour, now < began + Self.hourMilliseconds { return false }
            hour = now
            return true
        }
    }

    /// The name of the database to begin at, if it is time for a look; it may be the first one's.
    ///
    /// - Parameter writes: How many there were since the last call.
    func nextLook(after writes: Int = 1) -> HubKey? {
        state.withLock { state in
            state.writes += writes
            guard state.writes >= Self.writesPerLook else { return nil }
            state.writes %= Self.writesPerLook
            return state.position ?? HubKey(.global, .databaseName)
        }
    }

    /// Notes where the next look begins; nil for the first database.
    func goOn(at position: HubKey?) { state.withLock { $0.position = position } }
}
