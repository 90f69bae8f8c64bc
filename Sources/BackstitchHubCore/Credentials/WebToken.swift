import Foundation
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
    /// What nobody guesses.
    let secret: String
    /// In seconds since 1970; nil of the first token of a session.
    let issued: Int64?
    private let mac: String

    /// Reads a token. What is none of a hub is a secret that no session has.
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

/// How long a session goes on.
struct SessionLife: Hashable, Sendable {
    /// The first moment at which the token counts no longer, in milliseconds since 1970.
    let end: Int64
    /// Whether a later token is to take its place.
    let isDue: Bool

    /// - Parameter now: Milliseconds since 1970.
    init(_ token: WebToken, of row: WebTokenRow, _ limits: HubLimits, now: Int64) {
        let idle = limits.sessionMilliseconds
        let ends = row.ends(limits)
        guard let issued = token.issued.map({ $0 * 1_000 }) else {
            end = row.expires
            isDue = now >= row.expires - idle + limits.renewalMilliseconds && ends > row.expires
            return
        }
        end = min(issued + idle, ends)
        isDue = now >= issued + limits.renewalMilliseconds && ends > end
    }
}

extension HubLimits {
    private static let dayMilliseconds: Int64 = 24 * 3_600 * 1_000

    /// How long a session goes on that is not used, in milliseconds.
    var sessionMilliseconds: Int64 { Int64(sessionDays) * Self.dayMilliseconds }

    /// How long a session goes on at most, in milliseconds.
    var longestSessionMilliseconds: Int64 {
        Int64(max(sessionDays, sessionDaysMax)) * Self.dayMilliseconds
    }

    /// How old a token is when a later one takes its place, in milliseconds.
    var renewalMilliseconds: Int64 { sessionMilliseconds / 14 }
}

extension WebTokenRow {
    /// When the session ends however much it is used, in milliseconds since 1970. One that a version
    /// began that did not note it goes on as long as others do.
    func ends(_ limits: HubLimits) -> Int64 {
        ends ?? expires - limits.sessionMilliseconds + limits.longestSessionMilliseconds
    }

    /// When all of its tokens that were issued end, in milliseconds since 1970.
    func idleEnd(_ limits: HubLimits) -> Int64 {
        guard let used else { return expires }
        return min(ends(limits), max(expires, used + limits.sessionMilliseconds))
    }

    /// Whether it is to be noted that a later token is issued: it was not for a while.
    func isUseNews(_ limits: HubLimits, now: Int64) -> Bool {
        now >= (used ?? 0) + limits.renewalMilliseconds / 2
    }
}
