/// What names may be like on a service in CloudKit's shape.
package enum ServiceNames {
    /// The longest name of a record, zone, record type or field, in bytes.
    package static let byteCountMax = 255

    /// Whether a name of a record or zone is 1 to 255 printable ASCII bytes and does not start with
    /// an underscore.
    package static func isRecordName(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            guard (1...byteCountMax).contains(bytes.count), unsafe bytes[0] != UInt8(ascii: "_")
            else {
                return false
            }
            return unsafe bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        }
    }

    /// Whether a name of a record type or field starts with a letter and has only ASCII letters,
    /// digits and underscores, at most 255.
    package static func isIdentifier(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            guard let first = unsafe bytes.first, isLetter(first), bytes.count <= byteCountMax
            else {
                return false
            }
            return unsafe bytes.allSatisfy {
                isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
            }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }
}
