/// Texts that are JSON, nearly so or not at all, with what is easily read wrongly.
extension SeededGenerator {
    /// A text of a value, in most cases with a few bytes changed.
    mutating func jsonText() -> [UInt8] {
        var bytes: [UInt8] = chance(0.01) ? [0xEF, 0xBB, 0xBF] : []
        appendSpace(to: &bytes)
        // Depths around the greatest one.
        let depth = chance(0.05) ? 28 + below(8) : 0
        let opening = Array((chance(0.5) ? "[" : #"{"a":"#).utf8)
        for _ in 0..<depth { bytes += opening }
        appendJSON(to: &bytes, depth: 4)
        let closing = UInt8(ascii: opening.count == 1 ? "]" : "}")
        bytes += Array(repeating: closing, count: depth)
        appendSpace(to: &bytes)
        guard chance(0.7) else { return bytes }
        for _ in 0...below(3) { change(&bytes) }
        return bytes
    }

    private mutating func appendSpace(to bytes: inout [UInt8]) {
        guard chance(0.1) else { return }
        for _ in 0...below(2) { bytes.append(pick([0x20, 0x09, 0x0A, 0x0D])) }
    }

    private mutating func appendJSON(to bytes: inout [UInt8], depth: Int) {
        switch below(depth > 0 ? 10 : 6) {
        case 0, 1: appendJSONText(to: &bytes)
        case 2, 3: bytes += Array(pick(Self.jsonNumbers).utf8)
        case 4: bytes += Array(pick(["null", "true", "false"]).utf8)
        case 5: bytes += Array("\(Int64(bitPattern: next() >> UInt64(below(64))))".utf8)
        case 6, 7: appendList(to: &bytes, "[", "]") { $0.appendJSON(to: &$1, depth: depth - 1) }
        default:
            appendList(to: &bytes, "{", "}") { generator, bytes in
                generator.appendJSONText(to: &bytes)
                generator.appendSpace(to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                generator.appendSpace(to: &bytes)
                generator.appendJSON(to: &bytes, depth: depth - 1)
            }
        }
    }

    private mutating func appendList(
        to bytes: inout [UInt8], _ opening: Unicode.Scalar, _ closing: Unicode.Scalar,
        _ element: (inout SeededGenerator, inout [UInt8]) -> Void
    ) {
        bytes.append(UInt8(ascii: opening))
        appendSpace(to: &bytes)
        for index in 0..<(chance(0.02) ? below(90) : below(4)) {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendSpace(to: &bytes)
            element(&self, &bytes)
            appendSpace(to: &bytes)
        }
        bytes.append(UInt8(ascii: closing))
    }

    /// Appends a text in quotes, which may be a name.
    private mutating func appendJSONText(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // Names that differ are frequent enough for objects with many of them.
        if chance(0.7) { bytes += Array("\(next() % 1000)".utf8) }
        for _ in 0..<below(4) { bytes += Array(pick(Self.jsonParts).utf8) }
        if chance(0.005) { bytes += Array(pick(Self.brokenJSONParts).utf8) }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let place = below(bytes.count)
        switch below(6) {
        case 0: bytes[place] = pick(Self.jsonBytes)
        case 1: bytes[place] = UInt8(below(256))
        case 2: bytes.insert(pick(Self.jsonBytes), at: place)
        case 3: bytes.remove(at: place)
        case 4: bytes.removeLast(bytes.count - place)
        default: bytes += bytes[place..<min(place + below(20), bytes.count)]
        }
    }

    private static let jsonNumbers: [String] = [
        "0", "-0", "1", "-1", "0.0", "-0.5", "1e5", "1E-5", "1.50e+03", "9007199254740993",
        "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e400",
        "3.141592653589793238462643383279",
    ]

    private static let jsonParts: [String] = [
        "", "a", "b", "K", "\u{212A}", "é", "e\u{301}", "Å", "\u{212B}", "日本", "😀", "\u{FEFF}",
        "\u{7F}", "\u{80}", "\u{10FFFF}", "abcdefg", "abcdefgh", "abcdefghijklmnop", "ﬁ", #"\n"#,
        #"\r"#, #"\t"#, #"\b"#, #"\f"#, #"\""#, #"\\"#, #"\/"#, #"\u0041"#, #"\u004B"#, #"\u00e9"#,
        #"e\u0301"#, #"\ud83d\ude00"#, #"\uDBFF\uDFFF"#, #"\u0000"#, #"\uFEFF"#, #"\u212a"#,
    ]

    private static let brokenJSONParts: [String] = [
        #"\x"#, #"\u12"#, #"\u12g4"#, #"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\ud800\u0041"#,
        #"\ud800\n"#, #"\ud83d\"#, "\u{0}", "\u{1F}", "\n", "\"", "\\",
    ]

    /// Bytes that begin, end and separate values, and those that are no UTF-8 where they are.
    private static let jsonBytes: [UInt8] =
        Array("{}[],:\"\\/0159-+.eEtfnubx \t\n\r".utf8)
        + [
            0x00, 0x0B, 0x1F, 0x7F, 0x80, 0xA0, 0xBF, 0xC0, 0xC3, 0xE0, 0xED, 0xEF, 0xF0, 0xF4,
            0xFF,
        ]
}
