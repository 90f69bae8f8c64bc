/// A request to a service.
struct HTTPRequest: Sendable {
    var method: String
    var url: String
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// How long the whole may take, in milliseconds.
    var timeoutMilliseconds: Int
    /// Whether the service may be silent for long before it answers.
    var isLongPoll = false
}

/// What a service answered.
struct HTTPReply: Sendable {
    var status: Int
    /// The headers, names in lower case; of several of a name, the last.
    var headers: [String: String]
    var body: [UInt8]
    /// How long it took, in milliseconds; nil if it is not known.
    var elapsedMilliseconds: Int64?
}

/// Why no reply arrived. Whether the request took effect is not known.
struct HTTPFailure: Error, Hashable, Sendable {
    var message: String
}

/// Sends requests. The service's client knows engines by this alone.
protocol HTTPClient: Sendable {
    /// Sends a request and waits for the reply, or until the task is cancelled.
    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply
}
