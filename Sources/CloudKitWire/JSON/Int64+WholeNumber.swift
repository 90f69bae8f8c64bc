extension Int64 {
    /// Reads a number of JSON that has a fraction or an exponent, exactly; nil if it is not whole or
    /// has more than 64 bits.
    ///
    /// - Complexity: O(*n*) in the length of the text, whatever the exponent.
    init?(wholeNumber text: String) {
        var digits: [UInt8] = []
        var shift = 0
        var isInFraction = false
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        scan: while let byte = rest.first {
            switch byte {
            case 0x30...0x39:
                if isInFraction { shift -= 1 }
                digits.append(byte)
            case UInt8(ascii: "."): isInFraction = true
            default: break scan
            }
            rest.removeFirst()
        }
        // Zero stays zero, however long its exponent is.
        guard digits.contains(where: { $0 != 0x30 }) else {
            self = 0
            return
        }
        if let mark = rest.popFirst() {
            guard mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E"),
                let exponent = Int(Substring(rest)), exponent.magnitude < 1 << 32
            else { return nil }
            shift += exponent
        }
        while digits.last == 0x30 {
            digits.removeLast()
            shift += 1
        }
        let number = digits.drop { $0 == 0x30 }
        // 64 bits have 19 digits at most.
        guard shift >= 0, number.count + shift <= 19 else { return nil }
        let zeros = Array(repeating: UInt8(ascii: "0"), count: shift)
        let sign: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
        guard let value = Int64(String(decoding: sign + number + zeros, as: UTF8.self)) else {
            return nil
        }
        self = value
    }
}
