import Foundation
import WireCrypto

/// A session that begins now.
struct NewSession: Sendable {
    /// The secret, which is told once.
    let token: String
    private let created: Int64
    private let expires: Int64
    private let ends: Int64

    /// - Parameter lifetimeMilliseconds: How long the session lasts, used or not; nil if it lasts as long
    ///   as it is used, within the bounds of the hub.
    init(_ configuration: HubConfiguration, lifetimeMilliseconds: Int64? = nil) {
        let limits = configuration.limits
        token = Data(configuration.clock.secret(32)).base64EncodedString()
        created = configuration.now
        expires = created + (lifetimeMilliseconds ?? limits.sessionMilliseconds)
        ends = created + (lifetimeMilliseconds ?? limits.longestSessionMilliseconds)
    }

    /// Writes the session of a user, with those that are shared by the hub.
    func write(
        of userRecordName: String, realm: UInt32, _ limits: HubLimits,
        _ transaction: any HubWriting
    ) throws {
        let key = WebTokenRow.key(token)
        try transaction.put(
            key,
            WebTokenRow(
                realm: realm, userRecordName: userRecordName, expires: expires, ends: ends,
                created: created))
        try transaction.noteExpiry(of: key, at: expires + limits.endedSessionMilliseconds)
    }
}
