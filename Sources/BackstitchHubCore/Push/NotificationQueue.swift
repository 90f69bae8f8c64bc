import Threading

/// How many requests there are of which devices are still to be told, and the bytes of their records.
///
/// Notifications are hints: when the queue is full, devices are not notified of further requests.
final class NotificationQueue: Sendable {
    /// The most bytes of records that are kept for it.
    static let bytesMax = 32 << 20

    private struct State {
        var requests = 0
        var bytes = 0
    }

    private let state = Locked(State())

    /// Takes a place; false if there is none.
    func enter(bytes: Int, max: Int) -> Bool {
        state.withLock { state in
            guard state.requests < max, state.bytes + bytes <= Self.bytesMax else { return false }
            state.requests += 1
            state.bytes += bytes
            return true
        }
    }

    /// Gives a place back.
    func leave(bytes: Int) {
        state.withLock { state in
            state.requests -= 1
            state.bytes -= bytes
        }
    }

    /// How many requests there are.
    var count: Int { state.withLock { $0.requests } }
}
