import BackstitchCore

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
    /// A file that is sent, or that the reply is written to; nil for bytes in memory.
    var file: HTTPFile?
}

/// A file on its way, and who is told how far it came.
struct HTTPFile: Sendable {
    enum Role: Sendable {
        /// These bytes of it are the body of the request.
        case body(Range<Int64>)
        /// The body of a reply that goes well is written to it: a part at the offset, or the whole from
        /// the beginning.
        case reply(offset: Int64)
    }

    var path: String
    var role: Role
    /// Called with the bytes that were sent, or that the file has.
    var progress: @Sendable (Int64) -> Void

    init(path: String, role: Role, progress: @escaping @Sendable (Int64) -> Void = { _ in }) {
        (self.path, self.role, self.progress) = (path, role, progress)
    }

    /// The whole of a file that is sent.
    init(
        sending path: String, progress: @escaping @Sendable (Int64) -> Void
    ) throws(ServiceError) {
        let byteCount = try LocalFile.byteCount(sending: path)
        self.init(path: path, role: .body(0..<byteCount), progress: progress)
    }
}

/// What a service answered.
struct HTTPReply: Sendable {
    var status: Int
    /// The headers, names in lower case; of several of a name, the last.
    var headers: [String: String]
    var body: [UInt8]
    /// How long it took, in milliseconds; nil if it is not known.
    var elapsedMilliseconds: Int64?
    /// The bytes of the request's body that were sent.
    var sentBytes: Int64 = 0
}

/// Why no reply arrived. Whether the request took effect is not known.
struct HTTPFailure: Error, Hashable, Sendable {
    var message: String
    /// The bytes of the request's body that were sent.
    var sentBytes: Int64 = 0
}

/// Sends requests. The service's client knows engines by this alone.
protocol HTTPClient: Sendable {
    /// Sends a request and waits for the reply, or until the task is cancelled.
    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply
}
