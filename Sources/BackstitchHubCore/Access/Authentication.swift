/// Whoever sent a request, and the realm that the credentials are good for.
struct Authentication: Sendable {
    var realm: RealmRow
    var principal: Principal
    /// The signature of a server key's request.
    var signed: SignedRequest?
    /// The session of a user's request: the SHA-256 of its secret.
    var session: [UInt8]?
    /// When the session ends, in milliseconds since 1970.
    var end = Int64.max
    /// The token that takes the place of that of the request, if it is time.
    var renewedToken: String?
    /// Whether it is to be noted that there is one.
    var isUseNews = false
}
