/// The place of a request in a trace, as `traceparent` of W3C Trace Context tells it.
package struct TraceParent: Hashable, Sendable {
    package static let header = "traceparent"

    /// 32 hexadecimal digits.
    package let trace: String
    /// The span that the request was made in: 16 hexadecimal digits.
    package let span: String

    /// Reads the header; nil if the text is not one. Of versions beyond 00, which may add more, what 00 has counts.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHexadecimal(parts[0], 2), parts[0] != "ff",
            parts[0] != "00" || parts.count == 4, Self.isHexadecimal(parts[1], 32),
            parts[1].contains(where: { $0 != "0" }), Self.isHexadecimal(parts[2], 16),
            parts[2].contains(where: { $0 != "0" }), Self.isHexadecimal(parts[3], 2)
        else { return nil }
        (trace, span) = (String(parts[1]), String(parts[2]))
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
