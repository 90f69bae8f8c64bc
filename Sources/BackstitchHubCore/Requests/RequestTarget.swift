import BackstitchCore

/// The path and the query of a request, decoded.
struct RequestTarget: Hashable, Sendable {
    /// The parts between the slashes.
    var path: [String]
    var query: [String: String] = [:]

    /// Reads a target; nil if the text is no target: it has wrong escapes, or parts such as `..`.
    init?(_ target: String) {
        let (slash, zero) = (UInt8(ascii: "/"), UInt8(0))
        let ends = target.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = ends.first, path.first == slash else { return nil }
        self.path = []
        for part in path.dropFirst().split(separator: slash, omittingEmptySubsequences: false) {
            guard let decoded = Self.decode(part, plusIsBlank: false), decoded != ".",
                decoded != "..", !decoded.utf8.contains(slash), !decoded.utf8.contains(zero)
            else { return nil }
            self.path.append(decoded)
        }
        guard ends.count == 2 else { return }
        for item in ends[1].split(separator: UInt8(ascii: "&")) {
            let parts = item.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let last = parts.count == 2 ? parts[1] : parts[0].suffix(0)
            guard let name = Self.decode(parts[0], plusIsBlank: true),
                let value = Self.decode(last, plusIsBlank: true)
            else { return nil }
            // The first counts, so that nobody adds one behind a signed query.
            if query[name] == nil { query[name] = value }
        }
    }

    private static func decode(_ text: Substring.UTF8View, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(\.hexadecimalDigit),
                    let low = rest.popFirst().flatMap(\.hexadecimalDigit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
            case 0..<0x21, 0x7F: return nil
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
