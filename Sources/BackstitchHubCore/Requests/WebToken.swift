import WireCrypto

/// A token that a user is signed in with: the secret of the session, and the time when it was issued if
/// it took the place of another one.
///
/// ```
/// secret
/// secret.seconds.mac
/// ```
///
/// All tokens of a session have its secret, so that what is stored of the session is found by each of
/// them, and requests that are under way with different ones are those of the same session. The hub signs
/// the time and stores nothing when it issues one.
struct WebToken: Hashable, Sendable {
    /// The random part, by which the hub finds the session.
    let secret: String
    /// In seconds since 1970; nil for the first token of a session.
    let issued: Int64?
    private let mac: String

    /// Reads a token. A text in another form counts as a secret as a whole, which no session has.
    init(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 3, let issued = Int64(parts[1]), issued > 0 {
            (secret, self.issued, mac) = (String(parts[0]), issued, String(parts[2]))
        } else {
            (secret, issued, mac) = (text, nil, "")
        }
    }

    /// The token of the same session that is issued at a time.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - key: What the hub signs tokens with.
    func renewed(at now: Int64, key: [UInt8]) -> String {
        let seconds = now / 1_000
        return "\(secret).\(seconds).\(Self.mac(secret, seconds, key))"
    }

    /// Whether the hub issued it at the time that it tells.
    func isGenuine(key: () throws -> [UInt8]) rethrows -> Bool {
        guard let issued else { return true }
        return Digest.isEqual(
            Array(mac.utf8), Array(Self.mac(secret, issued, try key()).utf8))
    }

    private static func mac(_ secret: String, _ seconds: Int64, _ key: [UInt8]) -> String {
        let mac = Digest.hmac(Array("session \(secret) \(seconds)".utf8), key: key)
        return mac.prefix(16).hexadecimal
    }
}
