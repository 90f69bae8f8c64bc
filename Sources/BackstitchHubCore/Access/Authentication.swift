/// The sender of a request, and the realm for which the credentials of the request are valid.
///
/// It is a class because each request hands it on several times.
final class Authentication: Sendable {
    let realm: RealmRow
    let principal: Principal
    /// The signature of a server key's request.
    let signed: SignedRequest?
    /// The session of a user's request: the SHA-256 of its secret.
    let session: [UInt8]?
    /// When the session ends, in milliseconds since 1970.
    let end: Int64
    /// The new token that the reply hands out, if the request's own has been in use for long enough.
    let renewedToken: String?
    /// Whether the storage has to note that the session is in use: the last note is too old.
    let isUseNews: Bool

    /// The name of the user as a client: the hub shares turns between clients and counts the requests of
    /// each. Nil if the request has no user.
    var clientName: String? { principal.userRecordName.map { "user \(realm.number) \($0)" } }

    init(
        realm: RealmRow, principal: Principal, signed: SignedRequest? = nil,
        session: [UInt8]? = nil, end: Int64 = .max, renewedToken: String? = nil,
        isUseNews: Bool = false
    ) {
        (self.realm, self.principal, self.signed) = (realm, principal, signed)
        (self.session, self.end) = (session, end)
        (self.renewedToken, self.isUseNews) = (renewedToken, isUseNews)
    }
}
