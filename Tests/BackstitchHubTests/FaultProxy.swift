import BackstitchCore
import Foundation
import Glibc
import Threading

/// A reverse proxy before a server of this machine, which answers some requests itself.
final class FaultProxy: Sendable {
    enum Fault: Sendable {
        /// A page of its own with a status; the server hears nothing of the request.
        case page(status: Int)
        /// The same, after the server did what was asked.
        case pageAfterwards(status: Int)
        /// The server's answer, which ends after some bytes.
        case cut(bytes: Int)
    }

    let url: URL
    private let upstream: UInt16
    private let listener: LocalListener
    private let faults = Locked<[(path: String, fault: Fault)]>([])
    /// The most bytes of a body that are let through.
    private let bodyBytesMax = Locked(Int.max)

    init(before server: URL) throws {
        guard let port = server.port else { throw POSIXError(.EINVAL) }
        upstream = UInt16(port)
        listener = try LocalListener()
        url = URL(address: "http://127.0.0.1:\(listener.port)")
        listener.start { [weak self] in self?.serve($0) }
    }

    /// Has the next request go wrong whose path has a part.
    func fail(_ path: String, _ fault: Fault) {
        faults.withLock { $0.append((path, fault)) }
    }

    /// Has requests with larger bodies refused from now on.
    func refuseBodies(over bytes: Int) { bodyBytesMax.withLock { $0 = bytes } }

    /// How many faults have not happened yet.
    var faultsLeft: Int { faults.withLock { $0.count } }

    /// Answers one request; its client makes another connection for the next one.
    private func serve(_ client: Int32) {
        guard let request = Self.request(from: client) else { return }
        guard request.body.count <= bodyBytesMax.withLock({ $0 }) else {
            return Self.send(Self.page(413), to: client)
        }
        let path = request.head.split(separator: " ").dropFirst().first ?? ""
        let fault = faults.withLock { faults -> Fault? in
            guard let index = faults.firstIndex(where: { path.contains($0.path) }) else {
                return nil
            }
            return faults.remove(at: index).fault
        }
        switch fault {
        case .page(let status): Self.send(Self.page(status), to: client)
        case .pageAfterwards(let status):
            _ = forward(request)
            Self.send(Self.page(status), to: client)
        case .cut(let bytes): Self.send(Array(forward(request).prefix(bytes)), to: client)
        case nil: Self.send(forward(request), to: client)
        }
    }

    private static func page(_ status: Int) -> [UInt8] {
        let body = "<html><body>Not the service</body></html>"
        return Array(
            """
            HTTP/1.1 \(status) Said\r
            Content-Type: text/html\r
            Location: http://127.0.0.1:1/\r
            Content-Length: \(body.utf8.count)\r
            Connection: close\r
            \r
            \(body)
            """.utf8)
    }

    /// The server's answer, as it came.
    private func forward(_ request: (head: String, body: [UInt8])) -> [UInt8] {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(server) }
        let isConnected = LocalListener.withAddress(upstream) { connect(server, $0, $1) == 0 }
        guard isConnected else { return [] }
        let lines = request.head.components(separatedBy: "\r\n").filter {
            !$0.isEmpty && !$0.lowercased().hasPrefix("connection:")
        }
        let head = (lines + ["Connection: close", "", ""]).joined(separator: "\r\n")
        Self.send(Array(head.utf8) + request.body, to: server)
        var answer: [UInt8] = []
        while let part = Self.receive(from: server) { answer += part }
        return answer
    }

    // MARK: Bytes

    private static func request(from client: Int32) -> (head: String, body: [UInt8])? {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = bytes.firstRange(of: end) {
                let head = String(decoding: bytes[..<place.lowerBound], as: UTF8.self)
                let field = head.components(separatedBy: "\r\n").first {
                    $0.lowercased().hasPrefix("content-length:")
                }
                let length = field.flatMap {
                    Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces))
                }
                let body = bytes[place.upperBound...]
                if body.count >= length ?? 0 { return (head, Array(body)) }
            }
            guard let part = receive(from: client) else { return nil }
            bytes += part
        }
    }

    private static func receive(from descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
