import CMicroHTTPD
import Glibc

/// A numeric address of IP; one of version 4 that is written as version 6 counts as version 4.
struct NetworkAddress: Hashable, Sendable {
    /// In network order: 4 bytes of version 4, 16 of version 6.
    let bytes: [UInt8]

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// Reads an address; nil where the text is none.
    init?(_ text: some StringProtocol) {
        let text = String(text)
        if let bytes = Self.bytes(text, family: AF_INET, count: 4) {
            self.bytes = bytes
            return
        }
        // The zone of a link-local address says through which interface, and not who.
        let host = text.prefix { $0 != "%" }
        guard let bytes = Self.bytes(String(host), family: AF_INET6, count: 16) else { return nil }
        let isMapped = bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.dropFirst(12)) : bytes
    }

    /// The address of a socket; nil where it is none of IP.
    init?(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return nil }
        let bytes: [UInt8]
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            bytes = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            bytes = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in6.self, capacity: 1)
            { withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) } }
        default: return nil
        }
        let isMapped = bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.dropFirst(12)) : bytes
    }

    /// The address as text.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func bytes(_ text: String, family: Int32, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }

    /// What one client hardly has many of: the address, of version 6 its network of 64 bits.
    var group: NetworkAddress {
        bytes.count == 4
            ? self : NetworkAddress(bytes: Array(bytes.prefix(8)) + Array(repeating: 0, count: 8))
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }
}

/// All addresses that begin with the same bits.
struct Network: Hashable, Sendable {
    private let address: NetworkAddress
    private let bits: Int

    /// Reads `10.0.0.0/8`, `fd00::/8`, or an address alone; nil where the text is none of these.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ NetworkAddress($0) }), parts.count <= 2 else {
            return nil
        }
        let most = address.bytes.count * 8
        guard parts.count == 2 else {
            (self.address, bits) = (address, most)
            return
        }
        guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
            bits <= most
        else { return nil }
        (self.address, self.bits) = (address, bits)
    }

    /// Whether an address is one of the network.
    func contains(_ other: NetworkAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        return zip(address.bytes, other.bytes).enumerated().allSatisfy { index, pair in
            let count = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - count) == 0
        }
    }
}
