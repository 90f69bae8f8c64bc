import Glibc
import Testing

/// A connection to a server of this machine, of bytes. Its calls block.
final class LoopbackSocket {
    private let descriptor: Int32

    /// - Parameter source: The loopback address that the server sees.
    init(url: String, from source: String = "127.0.0.1") throws {
        let port = try #require(UInt16(url.split(separator: ":").last ?? ""))
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(Self.withAddress(source, 0) { bind(descriptor, $0, $1) } == 0)
        try #require(Self.withAddress("127.0.0.1", port) { connect(descriptor, $0, $1) } == 0)
    }

    deinit { close(descriptor) }

    private static func withAddress(
        _ host: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Sends bytes, and answers all that comes until the server closes the connection.
    func exchange(_ bytes: [UInt8]) -> String {
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &part, part.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += part[..<count]
        }
    }
}
