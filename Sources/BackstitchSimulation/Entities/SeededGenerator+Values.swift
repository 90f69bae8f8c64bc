import Backstitch
import BackstitchTesting
import Foundation

extension SeededGenerator {
    private static let words = [
        "", "a", "Ada", "caf\u{E9}", "cafe\u{301}", "日本", "👩‍👩‍👧", "line\nbreak", "\u{0}", "ß",
    ]

    mutating func text() -> String {
        chance(0.6) ? pick(Self.words) : "t\(below(1_000))"
    }

    /// A natural key; there are few, so that devices meet on them.
    mutating func code() -> String { "k\(below(4))" }

    mutating func number() -> Int64 {
        pick([0, 1, -1, .max, .min, Int64(truncatingIfNeeded: next()), Int64(below(100))])
    }

    mutating func decimal() -> Decimal {
        let digits = Decimal(Int64(truncatingIfNeeded: next() >> 1))
        return pick([0, 1, -1, digits, digits / 1_000_000_007, Decimal(below(10_000)) / 100])
    }

    mutating func date() -> Date {
        Date(timeIntervalSince1970: Double(below(2_000_000_000)) + fraction())
    }

    mutating func bytes(_ countMax: Int) -> Data {
        let count = below(countMax)
        return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: next()) })
    }

    mutating func note(_ id: SimulatedNote.ID) -> SimulatedNote {
        SimulatedNote(
            id: id, title: text(), isDone: chance(0.5), rank: Int16(truncatingIfNeeded: next()),
            large: number(), ratio: Float(fraction()), price: decimal(), createdAt: date())
    }

    mutating func oldNote(_ id: OldNote.ID) -> OldNote {
        OldNote(
            id: id, title: text(), isDone: chance(0.5), rank: Int16(truncatingIfNeeded: next()),
            large: number(), ratio: Float(fraction()), price: decimal(), createdAt: date())
    }

    /// Changes one attribute or several.
    mutating func change(_ note: inout OldNote, _ pool: RecordPool) {
        for _ in 0..<(chance(0.6) ? 1 : 3) {
            switch below(8) {
            case 0: note.title = text()
            case 1: note.text = chance(0.25) ? nil : text()
            case 2: note.isDone.toggle()
            case 3: note.rank = Int16(truncatingIfNeeded: next())
            case 4: note.large = number()
            case 5: note.price = decimal()
            case 6: note.createdAt = date()
            default: note.folder = pool.target(.folder, &self).map { .init($0) }
            }
        }
    }

    /// Changes one attribute or several; optionals are cleared now and then.
    mutating func change(_ note: inout SimulatedNote, _ pool: RecordPool, mayBeLarge: Bool) {
        let count = chance(0.6) ? 1 : 2 + below(6)
        for _ in 0..<count {
            let isCleared = chance(0.25)
            switch below(20) {
            case 0: note.title = text()
            case 1: note.text = isCleared ? nil : text()
            case 2: note.isDone.toggle()
            case 3: note.isRead = isCleared ? nil : chance(0.5)
            case 4: note.rank = Int16(truncatingIfNeeded: next())
            case 5: note.small = isCleared ? nil : Int32(truncatingIfNeeded: next())
            case 6: note.large = number()
            case 7: note.plain = isCleared ? nil : Int(number())
            case 8: note.ratio = Float(fraction()) * 1_000
            case 9: note.share = isCleared ? nil : Float(fraction())
            case 10: note.weight = isCleared ? nil : fraction() * 1e12
            case 11: note.price = decimal()
            case 12: note.exact = isCleared ? nil : decimal()
            case 13: note.createdAt = date()
            case 14: note.dueAt = isCleared ? nil : date()
            case 15:
                let large = mayBeLarge && chance(0.4)
                note.payload = isCleared ? nil : bytes(large ? 8_000 : 100)
            case 16:
                let bits = (next(), next())
                note.token =
                    unsafe isCleared ? nil : UUID(uuid: unsafeBitCast(bits, to: uuid_t.self))
            case 17:
                note.link = isCleared ? nil : URL(string: "https://example.org/\(below(99))")
            default: note.folder = pool.target(.folder, &self).map { .init($0) }
            }
        }
    }
}
