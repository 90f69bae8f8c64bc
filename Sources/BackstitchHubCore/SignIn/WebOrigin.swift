/// The origin of a web page: `https://app.example.com`, with a port if it has one of its own.
///
/// Without encryption only those of this machine are taken.
struct WebOrigin: Hashable, Sendable {
    let text: String

    /// Reads an origin; nil if the text is none, or has more than one.
    init?(_ text: String) {
        guard let origin = WebOrigin(startOf: text), origin.text == text else { return nil }
        self = origin
    }

    /// The origin of an address; nil if there is none.
    init?(startOf address: String) {
        let isSecure = address.hasPrefix("https://")
        guard isSecure || address.hasPrefix("http://"), address.utf8.count <= 2_048 else {
            return nil
        }
        let scheme = isSecure ? "https://" : "http://"
        let authority = address.dropFirst(scheme.count).prefix {
            $0 != "/" && $0 != "?" && $0 != "#"
        }
        guard let (host, port) = Self.parts(of: authority),
            isSecure || ["localhost", "127.0.0.1", "[::1]"].contains(host)
        else { return nil }
        text = scheme + host + (port.map { ":\($0)" } ?? "")
    }

    /// Host and port; nil if the text is neither, or is not spelled as browsers do.
    private static func parts(of authority: Substring) -> (host: String, port: UInt16?)? {
        let isNumeric = authority.hasPrefix("[")
        let host = authority.prefix { isNumeric ? $0 != "]" : $0 != ":" }
        let end = isNumeric ? authority.dropFirst(host.count + 1) : authority.dropFirst(host.count)
        let isHost = host.dropFirst(isNumeric ? 1 : 0).utf8.allSatisfy { byte in
            switch byte {
            case 0x61...0x7A, 0x30...0x39: true
            case UInt8(ascii: ":"): isNumeric
            case UInt8(ascii: "."), UInt8(ascii: "-"): !isNumeric
            default: false
            }
        }
        guard isHost, host.utf8.count > (isNumeric ? 1 : 0),
            !isNumeric || authority.contains("]")
        else { return nil }
        let name = isNumeric ? host + "]" : host
        guard !end.isEmpty else { return (String(name), nil) }
        guard end.hasPrefix(":"), let port = UInt16(end.dropFirst()), port > 0,
            end.dropFirst() == "\(port)"
        else { return nil }
        return (String(name), port)
    }
}
