import BackstitchCore
import Foundation

/// Random values of every kind, the same for the same seed.
struct RandomValues {
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    var generator: Generator

    init(seed: UInt64) { generator = Generator(state: seed) }

    mutating func text() -> String {
        let parts = [
            "a", "Z", "é", "e\u{301}", "😀", "\"", "\\", "\n", "\u{0}", "\u{2028}", " ", "1",
        ]
        return (0..<Int.random(in: 1...8, using: &generator)).map { _ in
            parts[Int.random(in: 0..<parts.count, using: &generator)]
        }.joined()
    }

    mutating func uuid() -> UUID {
        UUID(uuid: unsafeBitCast((generator.next(), generator.next()), to: uuid_t.self))
    }

    mutating func key() -> RecordKey {
        let zone: UInt8 =
            Bool.random(using: &generator) ? 0 : .random(in: 1...255, using: &generator)
        return RecordKey(
            Bool.random(using: &generator) ? .uuid(uuid()) : RecordName("n" + text()), zone: zone)
    }

    mutating func double() -> Double {
        let number = Double(bitPattern: generator.next())
        return number.isFinite ? number : 0.1
    }

    mutating func decimal() -> Decimal {
        let digits = Decimal(generator.next()) * Decimal(generator.next() >> 20)
        let exponent = Int.random(in: -30...30, using: &generator)
        let sign: FloatingPointSign = Bool.random(using: &generator) ? .minus : .plus
        return Decimal(sign: sign, exponent: exponent, significand: digits)
    }

    mutating func value(isElement: Bool = false) -> RecordValue {
        switch Int.random(in: 0..<(isElement ? 10 : 11), using: &generator) {
        case 0: return .bool(.random(using: &generator))
        case 1: return .int64(Int64(bitPattern: generator.next()))
        case 2: return .double(double())
        case 3: return .string(text())
        case 4: return .bytes(Data(text().utf8))
        case 5:
            return .date(
                milliseconds: .random(
                    in: -1_000_000_000_000...1_000_000_000_000_000, using: &generator))
        case 6: return .decimal(decimal())
        case 7: return .uuid(uuid())
        case 8: return .reference(key())
        case 9:
            return .location(
                GeoLocation(
                    latitude: .random(in: -90...90, using: &generator),
                    longitude: .random(in: -180...180, using: &generator)))
        default:
            let count = Int.random(in: 0...3, using: &generator)
            return .list((0..<count).map { _ in value(isElement: true) })
        }
    }
}
