import Threading

/// Counts the requests under way of each user and each address.
package final class RequestGate: Sendable {
    private let counts = Locked<[String: Int]>([:])

    /// Lets a request in, unless so many of the same client are inside; whoever was let in leaves.
    package func enter(_ client: String, max: Int) -> Bool {
        counts.withLock { counts in
            let count = counts[client, default: 0]
            guard count < max else { return false }
            counts[client] = count + 1
            return true
        }
    }

    /// Lets a request out.
    package func leave(_ client: String) {
        counts.withLock { counts in
            let count = counts[client, default: 1]
            counts[client] = count > 1 ? count - 1 : nil
        }
    }

    /// How many are inside.
    func count(of client: String) -> Int { counts.withLock { $0[client] ?? 0 } }
}
