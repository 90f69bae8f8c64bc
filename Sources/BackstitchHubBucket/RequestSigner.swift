import WireCrypto

/// Signs requests to an S3-compatible service: AWS Signature Version 4.
///
/// It is a function of its arguments: AWS has published examples of it, which the tests compare.
struct RequestSigner: Sendable {
    /// A request as it is signed.
    struct Request {
        var method: String
        /// The path, not escaped, with a slash in front.
        var path: String
        /// Names and values, not escaped, in any order.
        var query: [(name: String, value: String)] = []
        /// All headers that are signed, `host` among them; names in lower case.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body in hexadecimal digits.
        var payloadHash: String
    }

    let credentials: BucketCredentials
    let region: String
    var service = "s3"

    /// The value of the header `Authorization`.
    ///
    /// - Parameter time: As in the header `x-amz-date`: `20130524T000000Z`.
    func authorization(_ request: Request, time: String) -> String {
        let headers = request.headers.map { ($0.name, Self.trimmed($0.value)) }
            .sorted { $0.0 < $1.0 }
        let names = headers.map(\.0).joined(separator: ";")
        let canonical =
            [
                request.method, Self.escaped(request.path, keepsSlashes: true),
                Self.text(ofQuery: request.query),
                headers.map { "\($0.0):\($0.1)\n" }.joined(), names, request.payloadHash,
            ].joined(separator: "\n")
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let message =
            "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n" + Digest.sha256(canonical).hexadecimal
        var key = Array("AWS4\(credentials.secret)".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = Digest.hmac(Array(part.utf8), key: key)
        }
        let signature = Digest.hmac(Array(message.utf8), key: key).hexadecimal
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),"
            + "SignedHeaders=\(names),Signature=\(signature)"
    }

    /// A query in the order and form that is signed, which is sent too.
    static func text(ofQuery query: [(name: String, value: String)]) -> String {
        query.map { (escaped($0.name), escaped($0.value)) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Text with all escaped but what RFC 3986 calls unreserved.
    static func escaped(_ text: String, keepsSlashes: Bool = false) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: "/") where keepsSlashes: bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A header's value without blanks around it, and with one where several are.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }

    /// A time as it is signed.
    ///
    /// - Parameter milliseconds: Since 1970.
    static func time(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1_000
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        // Days since 0000-03-01, so that the leap day ends its year.
        let day = days + 719_468
        let era = day / 146_097
        let ofEra = day - era * 146_097
        let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let date = ofYear - (153 * month + 2) / 5 + 1
        let named = month < 10 ? month + 3 : month - 9
        func padded(_ number: Int64, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return padded(era * 400 + year + (named <= 2 ? 1 : 0), 4) + padded(named) + padded(date)
            + "T" + padded(rest / 3_600) + padded(rest / 60 % 60) + padded(rest % 60) + "Z"
    }
}
