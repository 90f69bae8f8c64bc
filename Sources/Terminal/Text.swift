package import Foundation

extension StringProtocol {
    /// The text with control characters escaped, so that stored data can't steer a terminal.
    package var printable: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                    result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
                default:
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }

    /// The text cut to a number of characters.
    package func shortened(to count: Int) -> String {
        self.count > count ? prefix(count - 1) + "…" : String(self)
    }
}

extension BinaryInteger {
    /// The number with a comma at every third digit.
    package var grouped: String {
        let digits = Array(String(magnitude))
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result += "," }
            result.append(digit)
        }
        return self < 0 ? "-" + result : result
    }

    /// The number as a count of a thing.
    package func counted(_ one: String, _ many: String? = nil) -> String {
        "\(grouped) \(self == 1 ? one : many ?? one + "s")"
    }
}

extension Int {
    /// The number of bytes in a unit that suits it, with 1024 bytes to the KiB.
    package var asBytes: String {
        var value = Double(self)
        var unit = 0
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(self) bytes" : "\(Double((value * 10).rounded()) / 10) \(units[unit])"
    }
}

extension Date {
    /// The time in UTC, to the millisecond.
    package var utc: String {
        // The style cuts what is below a millisecond, if rounding may have put it.
        addingTimeInterval(0.0005).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
