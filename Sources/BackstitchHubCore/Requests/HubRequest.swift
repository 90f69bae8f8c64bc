import CloudKitWire
import WireCrypto

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

        /// Whether it has a name; case doesn't count.
        package func isNamed(_ other: String) -> Bool {
            name.utf8.count == other.utf8.count
                && zip(name.utf8, other.utf8).allSatisfy {
                    $0 == $1 || $0 ^ $1 == 0x20 && (0x61...0x7A).contains($0 | 0x20)
                }
        }
    }

    /// The body of the request.
    public enum Body: Hashable, Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// An upload that was written to a file, with its size and the SHA-256 of its bytes.
        case file(path: String, byteCount: Int, sha256: [UInt8])
    }

    /// The method, in capitals.
    public var method: String
    /// Path and query, as they were sent.
    public var target: String { didSet { knownAddress = nil } }
    /// The headers.
    public var headers: [Header]
    /// The body.
    public var body: Body
    /// The address of the client, without the port.
    public var remoteAddress: String { didSet { knownAddressName = nil } }
    /// Whether it came by a proxy whose word counts.
    package var isFromProxy = false
    /// Who sends it, if its head proved that.
    var authentication: Authentication?
    /// The database that it is about, if that is known with its sender.
    var access: DatabaseAccess?
    /// What has the space of the upload that it is.
    var upload: HubKey?
    /// The answer, if its head made it certain.
    var refusal: HubResponse?
    /// The target, if it was read.
    var knownAddress: RequestAddress?
    private var knownAddressName: String?

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

    /// The value of a header; the first, if it is there several times.
    public func header(_ name: String) -> String? {
        headers.first { $0.isNamed(name) }?.value
    }

    /// The address for counts, of version 6 its network of 64 bits.
    package var addressName: String {
        knownAddressName ?? Self.addressName(of: NetworkAddress(remoteAddress))
    }

    /// Notes the address for counts, so that it is not worked out again.
    package mutating func note(addressName: String) { knownAddressName = addressName }

    package static func addressName(of address: NetworkAddress?) -> String {
        "address \(address?.group.bytes.hexadecimal ?? "")"
    }

    /// Where credentials count.
    package struct SignedIn: Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The name in records; nil if the request has no user.
        package var user: String?
    }

    /// Where and as whom its credentials count, as far as its head proved it.
    package var signedIn: SignedIn? {
        authentication.map {
            SignedIn(
                container: $0.realm.container, environment: $0.realm.environment,
                user: $0.principal.userRecordName)
        }
    }

    /// The bytes of the body; none of an upload.
    var bytes: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }
}
