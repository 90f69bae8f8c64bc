extension PositionKey {
    /// Digits of base 62, and whole numbers whose head tells their length.
    enum Digits {
        static let count: UInt64 = 62
        private static let last: UInt8 = 61
        private static let firstUpper: UInt8 = 10
        /// The head of numbers of one digit, from zero up.
        static let zeroHead: UInt8 = 36

        static func character(_ value: UInt8) -> UInt8 {
            switch value {
            case ..<10: 48 + value
            case ..<36: 65 + value - 10
            default: 97 + value - 36
            }
        }

        static func value(_ character: UInt8) -> UInt8? {
            switch character {
            case 48...57: character - 48
            case 65...90: character - 65 + 10
            case 97...122: character - 97 + 36
            default: nil
            }
        }

        /// How many digits follow a head; nil if the byte is no head.
        static func count(ofHead head: UInt8) -> Int? {
            switch head {
            case ..<firstUpper: nil
            case ..<zeroHead: Int(zeroHead - head)
            default: Int(head - zeroHead) + 1
            }
        }

        /// The next number; nil after the last.
        static func incremented(_ number: [UInt8]) -> [UInt8]? {
            var digits = Array(number.dropFirst())
            for index in digits.indices.reversed() {
                if digits[index] < last {
                    digits[index] += 1
                    return [number[0]] + digits
                }
                digits[index] = 0
            }
            guard number[0] < last else { return nil }
            return filled(head: number[0] + 1, with: 0)
        }

        /// The number before; nil before the first.
        static func decremented(_ number: [UInt8]) -> [UInt8]? {
            var digits = Array(number.dropFirst())
            for index in digits.indices.reversed() {
                if digits[index] > 0 {
                    digits[index] -= 1
                    return [number[0]] + digits
                }
                digits[index] = last
            }
            guard number[0] > firstUpper else { return nil }
            return filled(head: number[0] - 1, with: last)
        }

        private static func filled(head: UInt8, with digit: UInt8) -> [UInt8] {
            [head] + Array(repeating: digit, count: count(ofHead: head) ?? 0)
        }

        /// Digits after a fraction and before another; nil is the end of the number. Whatever
        /// follows them is between the two as well.
        static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8] {
            var result: [UInt8] = []
            var high = high
            var index = 0
            while true {
                let from = index < low.count ? low[index] : 0
                let to = high.map { index < $0.count ? $0[index] : 0 } ?? UInt8(count)
                if high != nil, from == to {
                    result.append(from)
                } else if to - from > 1 {
                    result.append(from + (to - from) / 2)
                    return result
                } else {
                    result.append(from)
                    high = nil
                }
                index += 1
            }
        }
    }
}
