import BackstitchHubCore

/// The head of a request, and whether it is one that is safe to act upon.
///
/// Requests that two programs may understand differently are refused, because a proxy in front of the
/// hub could be led to take the body of one request for another one (RFC 9112, section 11.2).
struct RequestHead: Sendable {
    /// Why a head is refused.
    enum Refusal: Int, Error, Sendable {
        case badRequest = 400
        case targetTooLong = 414
        case headTooLarge = 431
        case bodyTooLarge = 413
        case notImplemented = 501
    }

    var method: String
    var target: String
    var version: String
    var headers: [HubRequest.Header]

    /// Checks the head.
    ///
    /// - Returns: The length of the body, if it is told.
    func check(_ limits: HTTPLimits) throws(Refusal) -> Int? {
        guard target.utf8.count <= limits.targetBytes else { throw .targetTooLong }
        guard headers.count <= limits.headers else { throw .headTooLarge }
        guard Self.isToken(method), version == "HTTP/1.1" || version == "HTTP/1.0",
            target.utf8.first == UInt8(ascii: "/"),
            Self.all(target, { $0 > 0x20 && $0 != 0x7F })
        else { throw .badRequest }
        var (host, length, coding): (String?, String?, String?) = (nil, nil, nil)
        func take(_ value: String, as single: inout String?) throws(Refusal) {
            guard single == nil else { throw .badRequest }
            single = value
        }
        for header in headers {
            guard Self.isToken(header.name),
                Self.all(header.value, { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw .badRequest }
            if header.isNamed("host") {
                try take(header.value, as: &host)
            } else if header.isNamed("content-length") {
                try take(header.value, as: &length)
            } else if header.isNamed("transfer-encoding") {
                try take(header.value, as: &coding)
            }
        }
        if version == "HTTP/1.1", host == nil { throw .badRequest }
        if let coding {
            guard length == nil, version == "HTTP/1.1" else { throw .badRequest }
            guard coding.lowercased() == "chunked" else { throw .notImplemented }
            return nil
        }
        guard let text = length else { return 0 }
        guard !text.isEmpty, text.utf8.count <= 18,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(text)
        else { throw .badRequest }
        return length
    }

    /// Whether text is a token of HTTP (RFC 9110, section 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && all(text) { byte in
                let bits = byte < 0x40 ? tokenBytes.low : tokenBytes.high
                return byte < 0x80 && bits >> (byte & 0x3F) & 1 == 1
            }
    }

    /// The bytes of a token, a bit each: digits, letters and some signs.
    private static let tokenBytes: (low: UInt64, high: UInt64) = (
        0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE
    )

    /// Whether all bytes of a text are good.
    private static func all(_ text: String, _ isGood: (UInt8) -> Bool) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isGood) }
            ?? text.utf8.allSatisfy(isGood)
    }
}
