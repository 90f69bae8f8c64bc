import Testing

@testable import BackstitchHubCore

/// Requests that are wrong, or that two programs may understand differently, each with the statuses that
/// are right. 0 stands for a connection that is closed without a word.
enum HostileHeads {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var statuses: Set<Int>
        /// Whether the head alone shows it.
        var isInHead = true

        var testDescription: String { name }
    }

    private static let host = "Host: a\r\n"

    private static func head(
        _ name: String, _ text: String, _ statuses: Int..., isInHead: Bool = true
    ) -> Case {
        Case(name: name, bytes: Array(text.utf8), statuses: Set(statuses), isInHead: isInHead)
    }

    private static func get(_ name: String, _ headers: String, _ statuses: Int...) -> Case {
        Case(
            name: name, bytes: Array("GET /healthz HTTP/1.1\r\n\(headers)\r\n".utf8),
            statuses: Set(statuses))
    }

    private static func post(_ name: String, _ headers: String, _ statuses: Int...) -> Case {
        Case(
            name: name,
            bytes: Array("POST /healthz HTTP/1.1\r\n\(host)\(headers)\r\nhello".utf8),
            statuses: Set(statuses))
    }

    /// Good requests, which are answered as always.
    static let good: [Case] = [
        get("plain", host, 200), get("blanks around a value", "Host:  \t a \t\r\n", 200),
        get("an empty value", host + "X:\r\n", 200),
        get("bytes of other languages", host + "X: \u{E4}\u{1F600}\r\n", 200),
        head("HTTP/1.0 without a host", "GET /healthz HTTP/1.0\r\n\r\n", 200),
        head("an empty line in front", "\r\nGET /healthz HTTP/1.1\r\n\(host)\r\n", 200),
        post("a body", "Content-Length: 5\r\n", 200),
        head(
            "a body in chunks",
            "POST /healthz HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"
                + "5\r\nhello\r\n0\r\n\r\n", 200),
    ]

    static let lines: [Case] = [
        head("no version", "GET /healthz\r\n\(host)\r\n", 400),
        head("HTTP/2.0", "GET /healthz HTTP/2.0\r\n\(host)\r\n", 505),
        head("HTTP/1.2", "GET /healthz HTTP/1.2\r\n\(host)\r\n", 505),
        head("http/1.1", "GET /healthz http/1.1\r\n\(host)\r\n", 400),
        head("HTTP/1.10", "GET /healthz HTTP/1.10\r\n\(host)\r\n", 400),
        head("two blanks before the target", "GET  /healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("two blanks behind the target", "GET /healthz  HTTP/1.1\r\n\(host)\r\n", 400),
        head("a blank in the target", "GET /health z HTTP/1.1\r\n\(host)\r\n", 400),
        head("a tab for a blank", "GET\t/healthz\tHTTP/1.1\r\n\(host)\r\n", 400),
        head("a blank in front", " GET /healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a blank behind the version", "GET /healthz HTTP/1.1 \r\n\(host)\r\n", 400),
        head("a zero in the target", "GET /healthz\0zzz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a zero in the method", "GE\0T /healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a delete in the target", "GET /healthz\u{7F} HTTP/1.1\r\n\(host)\r\n", 400),
        head("a method that is no token", "G@T /healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a whole address", "GET http://a/healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a target without a slash", "GET healthz HTTP/1.1\r\n\(host)\r\n", 400),
        head("a star", "GET * HTTP/1.1\r\n\(host)\r\n", 400),
        head("CONNECT", "CONNECT a:80 HTTP/1.1\r\n\(host)\r\n", 400),
        head("a line of LF alone", "GET /healthz HTTP/1.1\n\(host)\r\n", 400),
        head("a carriage return alone", "GET /healthz HTTP/1.1\r\(host)\r\n", 400),
        head(
            "a long target", "GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n\(host)\r\n",
            414),
        head("a target without an end", "GET /\(String(repeating: "a", count: 40_000))", 414),
        Case(
            name: "a TLS hello",
            bytes: [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03],
            statuses: [400]),
        Case(name: "bytes of nothing", bytes: [0xFF, 0x00, 0xFE, 0x0D, 0x0A], statuses: [400]),
        Case(
            name: "HTTP/2 without asking", bytes: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
            statuses: [505]),
    ]

    static let headers: [Case] = [
        get("no host", "", 400), get("two hosts", host + host, 400),
        get("a blank before the colon", "Host : a\r\n", 400),
        get("a name with a blank", host + "X y: 1\r\n", 400),
        get("an empty name", host + ": 1\r\n", 400),
        get("no colon", host + "X\r\n", 400),
        get("a folded line", host + "X: 1\r\n 2\r\n", 400),
        get("a folded first line", " X: 1\r\n" + host, 400),
        get("a control character in a value", host + "X: a\u{1}b\r\n", 400),
        get("a zero in a value", host + "X: a\0b\r\n", 400),
        get("a zero in a name", host + "X\0: a\r\n", 400),
        get("a header that ends in LF", host + "X: 1\n", 400),
        get("an empty line of LF", host + "X: 1\r\n\n", 400),
        get("a carriage return in a value", host + "X: a\rb\r\n", 400),
        get("150 headers", host + String(repeating: "X: 1\r\n", count: 150), 431),
        get("70,000 bytes", host + "X: \(String(repeating: "a", count: 70_000))\r\n", 431),
        post("Content-Length: +5", "Content-Length: +5\r\n", 400),
        post("Content-Length: -5", "Content-Length: -5\r\n", 400),
        post("Content-Length: 0x5", "Content-Length: 0x5\r\n", 400),
        post("Content-Length: 5 5", "Content-Length: 5 5\r\n", 400),
        post("Content-Length: 5,5", "Content-Length: 5,5\r\n", 400),
        post("Content-Length of nothing", "Content-Length:\r\n", 400),
        post("Content-Length of 2^64+5", "Content-Length: 18446744073709551621\r\n", 400, 413),
        post("Content-Length with a zero", "Content-Length: 5\0 6\r\n", 400),
        post("two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        post("two equal lengths", "Content-Length: 5\r\nContent-Length: 5\r\n", 400),
        post("length and chunks", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        post("chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        post("chunks with a zero", "Transfer-Encoding: chunked\0x\r\n", 400),
        post("chunks with a tail", "Transfer-Encoding: chunkedx\r\n", 501),
        post("gzip in chunks", "Transfer-Encoding: gzip, chunked\r\n", 501),
        post("chunks in gzip", "Transfer-Encoding: chunked, gzip\r\n", 501),
        post("identity", "Transfer-Encoding: identity\r\n", 501),
        post("more than is taken", "Content-Length: 17000000\r\n", 413),
        head(
            "chunks in HTTP/1.0",
            "POST /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        head(
            "a chunk of no number",
            "POST /healthz HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nZZ\r\nx\r\n0\r\n\r\n",
            400, isInHead: false),
        head(
            "a chunk of +5",
            "POST /healthz HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"
                + "+5\r\nhello\r\n0\r\n\r\n", 400, isInHead: false),
    ]

    /// What stays as the library has it, because it is behind the head: chunks whose lines end in LF
    /// alone are taken. A proxy such as nginx frames them anew.
    static let known: [Case] = [
        head(
            "chunks with lines of LF",
            "POST /healthz HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
            200, 400, isInHead: false)
    ]

    static let bad = lines + headers
}
