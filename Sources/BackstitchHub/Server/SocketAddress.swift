import CMicroHTTPD
import Glibc

/// Addresses of sockets as text.
enum SocketAddress {
    /// The numeric host of an address; empty if it has none.
    static func host(of address: sockaddr_storage) -> String {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { host(of: $0) }
        }
    }

    /// As above.
    static func host(of address: UnsafePointer<sockaddr>) -> String {
        let isVersion6 = Int32(address.pointee.sa_family) == AF_INET6
        let count =
            isVersion6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = getnameinfo(
            address, socklen_t(count), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        return status == 0
            ? String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            : ""
    }

    /// How many bytes of a storage an address takes up.
    static func byteCount(of address: sockaddr_storage) -> socklen_t {
        let isVersion6 = Int32(address.ss_family) == AF_INET6
        return socklen_t(
            isVersion6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    }
}
