import Threading

/// How many bytes clients may have the server keep, all together and each.
final class ByteBudget: Sendable {
    private struct State {
        var total = 0
        var shares: [String: Int] = [:]
    }

    private let bytesMax: Int
    private let bytesPerClient: Int
    private let state = Locked(State())

    init(bytes: Int, perClient: Int) {
        bytesMax = bytes
        bytesPerClient = perClient
    }

    /// Takes bytes for a client; false if there are none left for it.
    func take(_ bytes: Int, for client: String) -> Bool {
        state.withLock { state in
            let share = state.shares[client, default: 0] + bytes
            guard state.total + bytes <= bytesMax, share <= bytesPerClient else { return false }
            state.total += bytes
            state.shares[client] = share
            return true
        }
    }

    /// Gives bytes back.
    func give(_ bytes: Int, of client: String) {
        guard bytes > 0 else { return }
        state.withLock { state in
            state.total -= bytes
            let share = state.shares[client, default: 0] - bytes
            state.shares[client] = share > 0 ? share : nil
        }
    }

    /// How many bytes are taken.
    var taken: Int { state.withLock { $0.total } }
}
