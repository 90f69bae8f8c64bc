import Threading

/// Notes that sessions go on: about once a day of each, after the reply with a later token.
///
/// It is a hint for lists and for what is forgotten. The token itself tells how long it counts, so that
/// no reply waits for a write.
final class SessionNotes: Sendable {
    /// The most notes that wait to be written; further ones are left to later requests.
    private static let waitingMax = 1_000

    private let configuration: HubConfiguration
    private let storage: any HubStorage
    private let pool: WorkPool
    private let waiting = Locked<Set<[UInt8]>>([])

    init(_ configuration: HubConfiguration, _ storage: any HubStorage, _ pool: WorkPool) {
        (self.configuration, self.storage, self.pool) = (configuration, storage, pool)
    }

    /// How many notes wait to be written.
    var count: Int { waiting.withLock { $0.count } }

    /// Notes that a session got a later token, some time after this returns.
    func noteUse(of session: [UInt8]) {
        let isNew = waiting.withLock {
            $0.count < Self.waitingMax && $0.insert(session).inserted
        }
        guard isNew else { return }
        pool.handOver { [self] in
            // It ends with the write, which the storage ends at the latest when it closes.
            Task {
                defer { waiting.withLock { _ = $0.remove(session) } }
                do {
                    try await write(session)
                } catch is WorkCancelled {
                    // The hub ends. A later request notes it.
                } catch {
                    configuration.log(failure: error, call: "session")
                }
            }
        }
    }

    private func write(_ session: [UInt8]) async throws {
        let (limits, now) = (configuration.limits, configuration.now)
        let key = WebTokenRow.key(hash: session)
        try await storage.write(to: [.global], expecting: { [.key(key)] }) { transaction in
            guard var row: WebTokenRow = try transaction.row(key),
                row.isUseNews(limits, now: now)
            else { return }
            row.used = now
            try transaction.put(key, row)
        }
    }
}
