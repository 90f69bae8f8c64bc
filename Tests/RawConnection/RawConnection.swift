import Foundation
import Glibc

/// A connection to a server, of bytes. Its calls block: use it on a thread of its own.
package final class RawConnection {
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// Why nothing more came; 0 where the server closed the connection.
    package private(set) var failure: Int32 = 0

    /// A reply as it came.
    package struct Reply {
        package var status: Int
        /// Names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]

        package init(status: Int, headers: [String: String], body: [UInt8]) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// Connects to a server of this machine.
    ///
    /// - Parameters:
    ///   - source: The loopback address that the server sees.
    ///   - bufferBytes: What the system keeps of what comes until it is read; nil for its own choice.
    package init(url: String, from source: String = "127.0.0.1", bufferBytes: Int32? = nil) throws {
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw POSIXError(.EINVAL)
        }
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var bufferBytes {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &bufferBytes,
                socklen_t(MemoryLayout<Int32>.size))
        }
        guard Self.withAddress(source, 0, { bind(descriptor, $0, $1) }) == 0,
            Self.withAddress("127.0.0.1", port, { connect(descriptor, $0, $1) }) == 0
        else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    /// Connects to a socket in the file system.
    package init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
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

    /// Sends bytes; what the server does not take any more is dropped.
    package func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Says that nothing more comes.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Whether the server has sent something, or closed, within a time; negative for however long that takes.
    ///
    /// A busy machine is late with what it sends. So a test may give it a moment, but not fail for want of news.
    package func hasNews(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// All that comes until the server closes the connection.
    package func rest() -> [UInt8] {
        while receive() {}
        defer { buffer = [] }
        return buffer
    }

    /// All that comes until the server closes the connection.
    ///
    /// - Parameter look: Called now and then once a whole reply has come, so that the server notices that
    ///   the client has ended.
    package func rest(lookingBehindReply look: () -> Void) -> [UInt8] {
        while Self.replies(in: buffer).isEmpty, receive() {}
        while true {
            guard hasNews(milliseconds: 50) else {
                look()
                continue
            }
            guard receive() else { return rest() }
        }
    }

    /// The bytes until the server closes the connection, or says nothing for a time.
    package func beginning(silenceMilliseconds: Int32) -> [UInt8] {
        while hasNews(milliseconds: silenceMilliseconds), receive() {}
        defer { buffer = [] }
        return buffer
    }

    private func receive() -> Bool {
        var part = [UInt8](repeating: 0, count: 16_384)
        let count = recv(descriptor, &part, part.count, 0)
        guard count > 0 else {
            failure = count < 0 ? errno : 0
            return false
        }
        buffer += part[..<count]
        return true
    }

    /// The next reply; nil where the connection ends before one is whole.
    ///
    /// - Parameter hasBody: Whether a body follows the head, as always but for HEAD.
    package func reply(hasBody: Bool = true) -> Reply? {
        while true {
            if let (reply, length) = Self.reply(in: buffer, hasBody: hasBody) {
                buffer.removeFirst(length)
                return reply
            }
            guard receive() else { return nil }
        }
    }

    /// The replies that bytes are.
    package static func replies(in bytes: [UInt8]) -> [Reply] {
        var replies: [Reply] = []
        var rest = bytes
        while let (reply, length) = reply(in: rest, hasBody: true) {
            replies.append(reply)
            rest.removeFirst(length)
        }
        return replies
    }

    private static func reply(in bytes: [UInt8], hasBody: Bool) -> (Reply, length: Int)? {
        let end = Array("\r\n\r\n".utf8)
        guard let start = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<start.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        let count = hasBody ? headers["content-length"].flatMap { Int($0) } ?? 0 : 0
        guard bytes.count >= start.upperBound + count else { return nil }
        let body = Array(bytes[start.upperBound..<(start.upperBound + count)])
        return (
            Reply(status: status ?? 0, headers: headers, body: body), start.upperBound + count
        )
    }
}
