/// The SHA-256 that names a content.
package enum ContentHash {
    /// The bytes of a hash.
    package static let byteCount = 32

    /// Whether a text is a hash in 64 lower-case hexadecimal digits.
    package static func isDigits(_ text: String) -> Bool {
        text.utf8.count == 2 * byteCount
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The bytes of a hash in hexadecimal digits; nil if the text is not a hash.
    package static func bytes(_ text: String) -> [UInt8]? {
        guard isDigits(text) else { return nil }
        let digits = text.utf8.map { $0 < 0x3a ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The hexadecimal digits of a hash.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }
}
