/// What names may be like.
package enum WireNames {
    /// Whether a name of a record or zone is 1 to 255 ASCII bytes and does not start with an
    /// underscore.
    package static func isRecordName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard (1...255).contains(bytes.count), bytes.first != UInt8(ascii: "_") else {
            return false
        }
        return bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Whether a name of a record type or field starts with a letter and has only letters, digits
    /// and underscores, at most 255.
    package static func isIdentifier(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first), bytes.count <= 255 else { return false }
        return bytes.allSatisfy {
            isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }
}
