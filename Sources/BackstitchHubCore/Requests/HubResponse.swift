import CloudKitWire

/// The answer of a hub.
public struct HubResponse: Sendable {
    /// The body of the answer.
    public enum Body: Hashable, Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// The whole of a file.
        case file(path: String)
        /// A part of a file, by its offset and its length in bytes.
        case filePart(path: String, offset: Int, byteCount: Int)
        /// A file, or a part of one, that is fetched from elsewhere while it is sent.
        case remote(RemoteFile)
    }

    /// The HTTP status.
    public var status: Int
    /// The headers, without the length.
    public var headers: [HubRequest.Header]
    /// The body.
    public var body: Body
    /// Whose session began with it.
    package var began: HubRequest.SignedIn?

    /// A response by its parts.
    public init(status: Int, headers: [HubRequest.Header] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The bytes of the body in memory.
    package var byteCount: Int {
        switch body {
        case .bytes(let bytes): bytes.count
        case .remote(let file): file.bytesInMemory
        case .file, .filePart: 0
        }
    }

    /// JSON.
    static func json(_ bytes: [UInt8], status: Int = 200) -> HubResponse {
        HubResponse(
            status: status,
            headers: [HubRequest.Header("Content-Type", "application/json; charset=UTF-8")],
            body: .bytes(bytes))
    }

    /// Text for people and machines that watch the hub.
    package static func text(_ text: String, status: Int = 200) -> HubResponse {
        HubResponse(
            status: status,
            headers: [
                HubRequest.Header("Content-Type", "text/plain; version=0.0.4; charset=UTF-8")
            ],
            body: .bytes(Array(text.utf8)))
    }

    /// A request that failed as a whole.
    ///
    /// - Parameter uuid: The name of the reply.
    static func failure(_ error: WireError, uuid: String) -> HubResponse {
        var error = error
        error.uuid = uuid
        error.serverRecord = nil
        var response = json(error.body(), status: error.code?.status ?? 400)
        if let seconds = error.retryAfter {
            let whole = String(Int(seconds.rounded(.up)))
            response.headers.append(HubRequest.Header("Retry-After", whole))
        }
        response.headers.append(HubRequest.Header(WireHeader.requestUUID, uuid))
        return response
    }
}

extension HubResponse {
    /// A reply whose members a closure writes.
    static func object<Failure: Error>(
        numbersAsStrings: Bool = false, _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) -> HubResponse {
        var json = JSONWriter(numbersAsStrings: numbersAsStrings)
        try json.object(members)
        return .json(json.bytes)
    }
}
