import Threading
import WireCrypto

/// The credentials of a client.
public enum CloudKitCredentials: Sendable {
    /// An API token alone. It opens the public database for reading.
    case apiToken(String)
    /// An API token, and the token of a user who is signed in.
    case user(apiToken: String, webAuthToken: WebAuthToken)
    /// A server's key: its id and the private key, ECDSA on P-256, in PEM. It opens the public
    /// database.
    case serverKey(id: String, privateKeyPEM: String)
}

/// The token that a user is signed in with. The service may replace it with any reply.
public final class WebAuthToken: Sendable {
    private let token: Locked<String>
    private let persist: @Sendable (String) -> Void

    /// A token.
    ///
    /// - Parameter persist: Keeps a token that replaces this one, for the next start of the program.
    ///   Called on any thread, before the reply is handed on.
    public init(_ token: String, persist: @escaping @Sendable (String) -> Void = { _ in }) {
        self.token = Locked(token)
        self.persist = persist
    }

    /// The current token.
    public var value: String { token.withLock { $0 } }

    /// Takes the token that replaces this one.
    func replace(with newToken: String) {
        let isNew = token.withLock { token in
            defer { token = newToken }
            return token != newToken
        }
        if isNew { persist(newToken) }
    }
}
