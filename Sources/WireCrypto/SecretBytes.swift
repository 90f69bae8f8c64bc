import COpenSSL

/// Random bytes for tokens and keys.
package enum SecretBytes {
    /// Bytes of the system's generator for secrets.
    package static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let status = RAND_bytes(&bytes, Int32(count))
        precondition(status == 1, "The system has no randomness for secrets.")
        return bytes
    }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
