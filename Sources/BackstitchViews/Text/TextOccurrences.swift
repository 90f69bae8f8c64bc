/// Where a word occurs in the texts of a record: the value of an entry of a ``TextIndex``.
///
/// | bytes | meaning |
/// |---|---|
/// | 1 | the class of the record's length (``TextLength``) |
/// | … | for each text that has the word: a zero and the number of the text, but for the first; then each place by its distance from the one before (from -1 for the first) |
///
/// All numbers are of variable length, seven bits a byte, the lowest first.
struct TextOccurrences {
    private(set) var bytes: [UInt8] = [0]
    private var text = 0
    private var last = -1

    /// Adds a place after those that were added.
    mutating func append(_ place: Int, inText text: Int) {
        if text != self.text {
            (self.text, last) = (text, -1)
            append(0)
            append(text)
        }
        append(place - last)
        last = place
    }

    /// The value for a record of some length.
    func value(length: TextLength) -> [UInt8] {
        var value = bytes
        value[0] = length.rawValue
        return value
    }

    private mutating func append(_ number: Int) {
        var number = number
        while number >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: number))
    }

    /// Visits the places of a stored value in order: the number of the text, and that of the word in it.
    /// Stops at what it can't read.
    @inline(__always)
    static func forEach(
        in value: UnsafeRawBufferPointer, _ body: (_ text: Int, _ place: Int) -> Void
    ) {
        var at = 1
        var text = 0
        var last = -1
        while let distance = unsafe number(in: value, &at) {
            if distance == 0 {
                guard let next = unsafe number(in: value, &at) else { return }
                (text, last) = (next, -1)
            } else {
                last += distance
                body(text, last)
            }
        }
    }

    @inline(__always)
    private static func number(in value: UnsafeRawBufferPointer, _ at: inout Int) -> Int? {
        guard at < value.count else { return nil }
        let first = unsafe value[at]
        at += 1
        if first < 0x80 { return Int(first) }
        var number = Int(first & 0x7F)
        var shift = 7
        while at < value.count, shift < 35 {
            let byte = unsafe value[at]
            at += 1
            number |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }
}

/// How many words a record has, to within an eighth or so: a class of lengths in a byte.
///
/// Ranking needs no more, and an edit that keeps the class leaves the entries of the other words alone.
struct TextLength: RawRepresentable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The class of a number of words: up to 15 exactly, then eight classes for each power of two.
    init(wordCount: Int) {
        let count = UInt64(max(0, wordCount))
        guard count >= 16 else {
            rawValue = UInt8(count)
            return
        }
        let exponent = 63 - count.leadingZeroBitCount
        let part = Int(count >> (exponent - 3)) & 7
        rawValue = UInt8(min(255, 16 + (exponent - 4) * 8 + part))
    }

    /// The smallest number of words of the class.
    var wordCount: Int {
        guard rawValue >= 16 else { return Int(rawValue) }
        let (exponent, part) = (Int(rawValue) - 16).quotientAndRemainder(dividingBy: 8)
        return (8 + part) << min(exponent + 1, 58)
    }
}
