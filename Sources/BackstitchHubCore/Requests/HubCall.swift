import CloudKitWire

/// A call of the protocol that was allowed.
struct HubCall: Sendable {
    let path: WirePath
    let authentication: Authentication
    /// The database that it is about, if that is known already.
    var access: DatabaseAccess?
    let body: [UInt8]
    /// What the client knows beyond CloudKit.
    let extensions: Set<WireExtension>
    /// The name of the request, if the client gives it one.
    let requestID: String?
    /// The courier token of the client, if it has one.
    let pushToken: String?
    /// Whether the reply to a query tells where the zone's feed stands.
    let wantsSyncToken: Bool
    /// What it costs.
    let work: RequestWork
    /// The most values of the body.
    let valuesMax: Int

    init(
        _ request: HubRequest, _ target: RequestTarget, _ path: WirePath,
        _ authentication: Authentication, _ work: RequestWork, _ limits: HubLimits
    ) {
        (self.path, self.authentication, self.work) = (path, authentication, work)
        (access, body) = (request.access, request.bytes)
        extensions = WireExtension.parse(request.header(WireHeader.extensions))
        requestID = request.header(WireHeader.requestID)
        pushToken = request.header(WireHeader.pushToken)
        wantsSyncToken = target.query["getCurrentSyncToken"] == "true"
        valuesMax = limits.valuesPerBody
    }

    var principal: Principal { authentication.principal }
    var realm: RealmRow { authentication.realm }

    /// The client, for counts: the user, or the address if the request has no user.
    var clientName: String { authentication.clientName ?? work.client }

    /// The body as a request.
    ///
    /// - Throws: `BAD_REQUEST` if it is none, `LIMIT_EXCEEDED` if it has too many values, each of
    ///   which takes up many times its bytes.
    func decode<Request: WireBody>(_ type: Request.Type = Request.self) throws(WireError) -> Request
    {
        work.countBody(bytes: body.count)
        guard body.count <= valuesMax || !Self.hasMoreValues(body, than: valuesMax) else {
            throw WireError(
                .limitExceeded, "The body has more than \(valuesMax) values. Send less at once.")
        }
        do throws(WireFormatError) {
            return try Request(body: body)
        } catch {
            throw WireError(.badRequest, error.message)
        }
    }

    /// Whether JSON has more values than a number: each but the first follows a comma, a colon or a
    /// bracket outside of texts.
    private static func hasMoreValues(_ body: [UInt8], than max: Int) -> Bool {
        var count = 1
        var isText = false
        var isEscaped = false
        for byte in body {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: ":"): count += 1
            default: break
            }
        }
        return count > max
    }
}
