import CloudKitWire

/// A call of the protocol that was allowed.
struct HubCall: Sendable {
    let path: WirePath
    let authentication: Hub.Authentication
    let body: [UInt8]
    /// What the client knows beyond CloudKit.
    let extensions: Set<WireExtension>
    /// The name of the request, where the client gives it one.
    let requestID: String?
    /// The courier token of the client, where it has one.
    let pushToken: String?

    var principal: Principal { authentication.principal }
    var realm: RealmRow { authentication.realm }

    /// The body as a request.
    ///
    /// - Throws: `BAD_REQUEST` where it is none.
    func decode<Request: WireBody>(_ type: Request.Type = Request.self) throws(WireError) -> Request
    {
        do throws(WireFormatError) {
            return try Request(body: body)
        } catch {
            throw WireError(.badRequest, error.message)
        }
    }
}
