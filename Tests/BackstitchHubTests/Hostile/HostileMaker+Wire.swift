@testable import BackstitchHubCore

extension HostileMaker {
    /// A request as the bytes of HTTP, its body whole or in chunks.
    mutating func bytes(of request: HubRequest) -> [UInt8] {
        var head = "\(request.method) \(request.target) HTTP/1.1\r\nHost: hub\r\n"
        for header in request.headers { head += "\(header.name): \(header.value)\r\n" }
        let isChunked = !request.bytes.isEmpty && happens(onceIn: 5)
        guard isChunked else {
            return Array("\(head)Content-Length: \(request.bytes.count)\r\n\r\n".utf8)
                + request.bytes
        }
        var bytes = Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8)
        var rest = request.bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...rest.count, using: &random))
            bytes += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10]
            rest = rest.dropFirst(part.count)
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }

    /// Bytes that are no request, or two in one, or one that does not end.
    mutating func brokenBytes() -> [UInt8] {
        let request = request()
        var bytes = bytes(of: request)
        let path = request.target
        let host = "Host: hub\r\n"
        switch Int.random(in: 0..<22, using: &random) {
        case 0: return Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)))
        case 1, 2:
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let end = min(bytes.count, 300)
                bytes[Int.random(in: 0..<end, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            return bytes
        case 3: return (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
        case 4: return text("GET \(path) HTTP/1.1\r\n\(host)X: \(filler(70_000))\r\n\r\n")
        case 5:
            let many = String(repeating: "X-A: 1\r\n", count: 200)
            return text("GET \(path) HTTP/1.1\r\n\(host)\(many)\r\n")
        case 6: return text("GET /\(filler(9_000)) HTTP/1.1\r\n\(host)\r\n")
        case 7: return post(path, "Content-Length: 99999999999999999999\r\n", "{}")
        case 8: return post(path, "Content-Length: 17000000\r\n", "{}")
        case 9: return post(path, "Content-Length: 4\r\nContent-Length: 5\r\n", "{}{}")
        case 10: return post(path, "Content-Length: -1\r\n", "{}")
        case 11:
            return post(path, "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n{}")
        case 12:
            let sizes = [
                "ZZ", "-1", "FFFFFFFFFFFFFFFFF", "0x2", " 2", "2;ext=\"", "7FFFFFFFFFFFFFFF",
            ]
            return post(path, "Transfer-Encoding: chunked\r\n", "\(pick(sizes))\r\n{}\r\n0\r\n\r\n")
        case 13: return post(path, "Transfer-Encoding: chunked\r\n", "2\r\n{}")
        case 14: return post(path, "Transfer-Encoding: chunked\r\n", "2\r\n{}XX0\r\n\r\n")
        case 15: return post(path, "Transfer-Encoding: gzip\r\n", "{}")
        case 16: return post(path, "Content-Encoding: gzip\r\nContent-Length: 2\r\n", "{}")
        case 17: return post(path, "Expect: 100-continue\r\nContent-Length: 2\r\n", "{}")
        case 18: return post(path, "Content-Length: 50\r\n", "{")
        case 19: return text("GET \(path) HTTP/\(pick(["0.9", "1.0", "2.0", "1.1.1", ""]))\r\n\r\n")
        case 20: return text("GET \(path) HTTP/1.1\nHost: hub\n\n")
        default:
            // Another request in the place of a body.
            return post(path, "Content-Length: 0\r\n", "POST /x HTTP/1.1\r\n\(host)\r\n")
        }
    }

    private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func filler(_ count: Int) -> String { String(repeating: "a", count: count) }

    private func post(_ path: String, _ headers: String, _ body: String) -> [UInt8] {
        text("POST \(path) HTTP/1.1\r\nHost: hub\r\n\(headers)\r\n\(body)")
    }
}
