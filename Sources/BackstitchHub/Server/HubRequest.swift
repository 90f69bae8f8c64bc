/// A request as it arrived.
public struct HubRequest: Sendable {
    /// A header.
    public struct Header: Hashable, Sendable {
        /// The name, in any case.
        public var name: String
        /// The value.
        public var value: String

        /// A header by its parts.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What came behind the head.
    public enum Body: Hashable, Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// An upload that was written to a file, with its size and the SHA-256 of its bytes.
        case file(path: String, byteCount: Int, sha256: [UInt8])
    }

    /// The method, in capitals.
    public var method: String
    /// Path and query, as they were sent.
    public var target: String
    /// The headers.
    public var headers: [Header]
    /// The body.
    public var body: Body
    /// The address of the client, without the port.
    public var remoteAddress: String

    /// A request by its parts.
    public init(
        method: String, target: String, headers: [Header] = [], body: [UInt8] = [],
        remoteAddress: String = "127.0.0.1"
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = .bytes(body)
        self.remoteAddress = remoteAddress
    }

    /// The value of a header; the first, where it is there several times.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The bytes of the body; none of an upload.
    var bytes: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }
}
