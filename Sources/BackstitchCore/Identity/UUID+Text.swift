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
        guard let uuid = text.withUTF8({ unsafe Self.parse(UnsafeRawBufferPointer($0)) }) else {
            return nil
        }
        self = uuid
    }

    /// The text, as `uuidString` has it.
    var canonicalText: String {
        unsafe String(unsafeUninitializedCapacity: Self.textByteCount) { target in
            guard let start = target.baseAddress else { return 0 }
            unsafe writeText(to: UnsafeMutableRawPointer(start))
            return Self.textByteCount
        }
    }

    /// Writes the text's 36 bytes.
    private func writeText(to target: UnsafeMutableRawPointer) {
        unsafe withUnsafeBytes(of: uuid) { unsafe Self.writeText(of: $0, to: target) }
    }

    /// Writes the 36 bytes of the text of 16 bytes.
    static func writeText(of bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
        func digits(_ offset: Int) -> UInt64 {
            unsafe bytes.little(UInt32.self, at: offset).hexDigits
        }
        let (second, third) = (digits(4), digits(8))
        unsafe target.storeBytes(of: digits(0), as: UInt64.self)
        unsafe target.storeBytes(
            of: UInt32(truncatingIfNeeded: second), toByteOffset: 9, as: UInt32.self)
        unsafe target.storeBytes(of: UInt32(second >> 32), toByteOffset: 14, as: UInt32.self)
        unsafe target.storeBytes(
            of: UInt32(truncatingIfNeeded: third), toByteOffset: 19, as: UInt32.self)
        unsafe target.storeBytes(of: UInt32(third >> 32), toByteOffset: 24, as: UInt32.self)
        unsafe target.storeBytes(of: digits(12), toByteOffset: 28, as: UInt64.self)
        for offset in [8, 13, 18, 23] {
            unsafe target.storeBytes(of: dash, toByteOffset: offset, as: UInt8.self)
        }
    }

    private static func parse(_ text: UnsafeRawBufferPointer) -> UUID? {
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isText = unsafe withUnsafeMutableBytes(of: &value) { target in
            var offset = 0
            for index in 0..<16 {
                if beginsGroup(index) {
                    guard unsafe text[offset] == dash else { return false }
                    offset += 1
                }
                guard let high = unsafe digit(text[offset]),
                    let low = unsafe digit(text[offset + 1])
                else {
                    return false
                }
                unsafe target[index] = high << 4 | low
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

extension UInt32 {
    /// The upper-case hexadecimal digits of four bytes, the lowest byte's first, in the order of memory.
    fileprivate var hexDigits: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var halves = UInt64(self)
        halves = (halves | halves << 16) & 0x0000_FFFF_0000_FFFF
        halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
        halves = ((halves >> 4) | (halves << 8)) & (ones &* 15)
        // From 10 on the digits are letters, 7 characters further on.
        let areLetters = ((halves &+ ones &* 6) >> 4) & ones
        return halves &+ ones &* 0x30 &+ areLetters &* 7
    }
}
