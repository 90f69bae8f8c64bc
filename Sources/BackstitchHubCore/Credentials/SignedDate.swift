import Foundation

/// The date of a signed request: ISO 8601, UTC, no fractions of seconds.
enum SignedDate {
    /// The date in milliseconds since 1970; nil if the text is none.
    static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let pattern = Array("0000-00-00T00:00:00Z".utf8)
        guard bytes.count == pattern.count else { return nil }
        for (byte, form) in zip(bytes, pattern) {
            let isDigit = (0x30...0x39).contains(byte)
            guard form == UInt8(ascii: "0") ? isDigit : byte == form else { return nil }
        }
        func number(_ range: Range<Int>) -> Int64 {
            bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        let days = daysSince1970(year, month, day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }

    /// A time as the header spells it.
    static func text(milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(.iso8601)
    }

    /// The days of the Gregorian calendar since 1970, by whole eras of 400 years.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
