/// A value or a name in a JSON text that was checked.
struct JSONToken: Sendable {
    enum Kind: UInt8, Sendable {
        case null, no, yes, number, array, object
        /// Text of ASCII without escapes.
        case asciiString
        /// Other text without escapes.
        case plainString
        /// Text with escapes.
        case escapedString

        /// Whether it is text.
        var isText: Bool { rawValue >= Kind.asciiString.rawValue }
    }

    let kind: Kind
    /// Where the bytes start: of a text behind its quote.
    let start: UInt32
    /// Where they end: of a text before its quote. Of a list or an object the number of its elements or members.
    var end: UInt32
    /// The token behind the value and all that is in it.
    var next: UInt32

    init(_ kind: Kind, _ start: Int, _ end: Int, next: Int) {
        self.kind = kind
        self.start = UInt32(start)
        self.end = UInt32(end)
        self.next = UInt32(next)
    }
}
