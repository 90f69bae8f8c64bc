import Foundation

/// The canonical text of a UUID: upper-case digits in groups of 8, 4, 4, 4 and 12.
///
/// Each record that is pushed or pulled has such a name; Foundation goes through C's formatted input
/// and output for one.
extension UUID {
    static var textByteCount: Int { 36 }

    private static let dash = UInt8(ascii: "-")

    /// The UUID whose ``canonicalText`` it is, or nil if the text has another form.
    init?(canonicalText text: String) {
        guard text.utf8.count == Self.textByteCount else { return nil }
        var text = text
        guard let uuid = text.withUTF8({ Self.parse(UnsafeRawBufferPointer($0)) }) else {
            return nil
        }
        self = uuid
    }

    /// The text, as `uuidString` has it.
    var canonicalText: String {
        String(unsafeUninitializedCapacity: Self.textByteCount) { target in
            guard let start = target.baseAddress else { return 0 }
            writeText(to: UnsafeMutableRawPointer(start))
            return Self.textByteCount
        }
    }

    /// Writes the text's 36 bytes.
    func writeText(to target: UnsafeMutableRawPointer) {
        withUnsafeBytes(of: uuid) { bytes in
            var offset = 0
            for (index, byte) in bytes.enumerated() {
                if Self.beginsGroup(index) {
                    target.storeBytes(of: Self.dash, toByteOffset: offset, as: UInt8.self)
                    offset += 1
                }
                ByteBuffer.writeHex(byte, to: target + offset)
                offset += 2
            }
        }
    }

    private static func parse(_ text: UnsafeRawBufferPointer) -> UUID? {
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isText = withUnsafeMutableBytes(of: &value) { target in
            var offset = 0
            for index in 0..<16 {
                if beginsGroup(index) {
                    guard text[offset] == dash else { return false }
                    offset += 1
                }
                guard let high = digit(text[offset]), let low = digit(text[offset + 1]) else {
                    return false
                }
                target[index] = high << 4 | low
                offset += 2
            }
            return true
        }
        return isText ? UUID(uuid: value) : nil
    }

    private static func beginsGroup(_ index: Int) -> Bool {
        index == 4 || index == 6 || index == 8 || index == 10
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
