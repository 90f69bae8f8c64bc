import Threading

/// Whom credentials proved a moment ago, for storages that are a round trip away.
///
/// Only valid credentials are kept. All are forgotten when a call revokes credentials, and when another
/// process or hub changed the data that all databases share.
final class AuthenticationCache: Sendable {
    /// For how long credentials count without another look, in milliseconds of the steady clock.
    static let lifetimeMilliseconds: Int64 = 30_000
    /// The most credentials that are remembered; then all are forgotten.
    private static let entriesMax = 10_000

    /// The credentials of a request, as the storage has them, and the database that it is about.
    struct Key: Hashable, Sendable {
        var realm: HubKey
        var apiToken: HubKey
        /// With the time at which it was issued and what proves that.
        var webToken: WebToken?
        var database: String?
    }

    struct Entry: Sendable {
        var authentication: Authentication
        var access: DatabaseAccess?
    }

    private struct State {
        var entries: [Key: (entry: Entry, end: Int64)] = [:]
        /// Under which names the databases were that credentials led to. They are hints, which stay when
        /// credentials are forgotten: they say what to look at together, and never what is true.
        var databaseNames: [Key: HubKey] = [:]
        /// The names of the users whose sessions were looked up, by the keys of the sessions' rows. They are hints
        /// too: a name gives a request its turn, and no access.
        var clientNames: [HubKey: String] = [:]
        /// How often all was forgotten.
        var generation = 0
        var isOn = false
    }

    private let state = Locked(State())

    /// What tells whether something was forgotten since.
    var generation: Int { state.withLock { $0.generation } }

    /// Begins to remember: from now on it is told what others change.
    func begin() { state.withLock { $0.isOn = true } }

    func entry(_ key: Key, now: Int64) -> Entry? {
        state.withLock { state in state.entries[key].flatMap { $0.end > now ? $0.entry : nil } }
    }

    /// The key of the database's name that credentials led to last; nil if that is not known.
    func databaseName(of key: Key) -> HubKey? { state.withLock { $0.databaseNames[key] } }

    /// Notes the key of the database's name that credentials lead to.
    func note(databaseName: HubKey, of key: Key) {
        state.withLock { state in
            if state.databaseNames.count >= Self.entriesMax { state.databaseNames = [:] }
            state.databaseNames[key] = databaseName
        }
    }

    /// By what turns know the user whose session a request names; nil if the session was not looked up.
    func clientName(of request: HubRequest) -> String? {
        guard let session = request.address?.credentials?.webTokenKey else { return nil }
        return state.withLock { $0.clientNames[session] }
    }

    /// Notes by what turns know the user of a session.
    func note(clientName: String, of session: HubKey) {
        state.withLock { state in
            if state.clientNames.count >= Self.entriesMax { state.clientNames = [:] }
            state.clientNames[session] = clientName
        }
    }

    /// Keeps what was read, unless something was forgotten since before it was read.
    func add(_ entry: Entry, for key: Key, readAt generation: Int, now: Int64) {
        state.withLock { state in
            guard state.isOn, state.generation == generation else { return }
            if state.entries.count >= Self.entriesMax { state.entries = [:] }
            state.entries[key] = (entry, now + Self.lifetimeMilliseconds)
        }
    }

    func forgetAll() {
        state.withLock { state in
            state.entries = [:]
            state.generation += 1
        }
    }
}

extension RequestWork {
    /// The work of a request, in the name of the user whom its head proves, or whose session it names; else in
    /// that of its address.
    convenience init(
        for request: HubRequest, _ authentications: AuthenticationCache, _ clock: HubClock
    ) {
        let user = request.authentication?.clientName ?? authentications.clientName(of: request)
        self.init(
            client: user ?? request.addressName, isAnonymous: user == nil,
            clock: clock.steadyMilliseconds)
    }
}
