import BackstitchHubCore
import CMicroHTTPD
import Glibc

extension NetworkAddress {
    /// The address of a socket; nil if it is none of IP.
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
        self.init(bytes: bytes)
    }

    /// The address as text.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
