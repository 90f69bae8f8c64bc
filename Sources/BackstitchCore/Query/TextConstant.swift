/// A text that rows are compared with: by bytes where that is what Swift's strings would say, else
/// as strings.
struct TextConstant: Sendable {
    let text: String
    private let bytes: [UInt8]
    private let isASCII: Bool
    /// Whether it is ASCII that joins with no ASCII beside it into one character.
    private let isPlain: Bool

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
        isASCII = bytes.allSatisfy { $0 < 0x80 }
        isPlain = isASCII && !bytes.contains { $0 == 0x0A || $0 == 0x0D }
    }

    /// Whether a comparison of a stored text with this one holds.
    func holds(_ comparison: Comparison, _ stored: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            let order = unsafe stored.order(bytes)
            // The same bytes are the same text; other bytes may be the same text in another form.
            if unsafe order == 0 || isASCII && stored.isASCII { return comparison.holds(order, 0) }
            return unsafe comparison.holds(String(decoding: stored, as: UTF8.self), text)
        }
    }

    /// Whether a stored text contains this one.
    func isContained(in stored: UnsafeRawBufferPointer) -> Bool {
        guard isPlain, !bytes.isEmpty, unsafe stored.isASCII else {
            return unsafe Self.characters(
                of: String(decoding: stored, as: UTF8.self), contain: text)
        }
        return unsafe bytes.withUnsafeBytes { unsafe stored.holds($0) }
    }

    /// Whether a stored text starts with this one.
    func starts(_ stored: UnsafeRawBufferPointer) -> Bool {
        if isPlain, stored.count >= bytes.count, unsafe stored.part(0..<bytes.count).isASCII {
            let isSame = unsafe stored.part(0..<bytes.count).order(bytes) == 0
            // A mark behind the prefix would make its last character another one.
            let hasPlainEnd = unsafe stored.count == bytes.count || stored[bytes.count] < 0x80
            if !isSame || hasPlainEnd { return isSame }
        }
        if isPlain, stored.count < bytes.count, unsafe stored.isASCII { return false }
        return unsafe String(decoding: stored, as: UTF8.self).starts(with: text)
    }

    /// Whether a text contains another, by characters.
    ///
    /// Generic as Foundation's predicate is, so that it means the same `contains`.
    static func characters<Text: Collection>(of text: Text, contain part: Text) -> Bool
    where Text.Element: Equatable {
        text.contains(part)
    }
}
