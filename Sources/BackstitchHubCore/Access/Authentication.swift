/// Whoever sent a request, and the realm that the credentials are good for.
struct Authentication: Sendable {
    var realm: RealmRow
    var principal: Principal
    /// The signature of a server key's request.
    var signed: SignedRequest?
    /// The SHA-256 of the web token of a user's request.
    var session: [UInt8]?
    /// When the session ends, in milliseconds since 1970.
    var end = Int64.max
}
