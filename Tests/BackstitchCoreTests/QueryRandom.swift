import Foundation

@testable import BackstitchCore

/// A generator that gives the same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    /// Whether dates come as they are saved.
    var roundsDates = false

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    mutating func optional<Wrapped>(_ make: (inout Self) -> Wrapped) -> Wrapped? {
        chance(0.3) ? nil : make(&self)
    }
}

/// Random values from small sets, so that they meet often, with the awkward ones among them.
extension SeededGenerator {
    static let longText = String(repeating: "long", count: 50)
    static let texts: [String] = shortTexts + longTexts

    private static let shortTexts: [String] = [
        "", "a", "ab", "abc", "b", "B", "é", "e\u{301}", "e", "ea", "\u{e9}a", "\0", "a\0", "a\0b",
        "a\u{1}", "K", "\u{212A}", "👩‍👩‍👧", "👩", "\r\n", "\n", "a\r\nb", "ß", "ü", "u\u{308}x",
        "각", "\u{1100}\u{1161}\u{11A8}", "\u{1100}\u{1161}", "Ω", "\u{2126}", "~", "\u{10FFFF}",
        "\u{FFFF}", "ab\u{301}", "ab\u{301}c",
    ]

    /// Texts around the length after which a key is cut.
    private static let longTexts: [String] = {
        let shorter = String(longText.dropLast())
        let endings: [String] = ["", "1", "2", "1a", "é", "e\u{301}", "\0"]
        let shorterEndings: [String] = ["", "é", "\0", "\0a"]
        return endings.map { longText.appending($0) }
            + shorterEndings.map { shorter.appending($0) }
            + [String(longText.dropLast(2)).appending("\0")]
    }()

    mutating func text() -> String {
        chance(0.7) ? pick(Self.texts) : pick(Self.texts) + pick(Self.texts)
    }

    /// Text in normal form C, for which Swift's `<` is right.
    mutating func normalText() -> String {
        let text = text()
        return text.precomposedStringWithCanonicalMapping
    }

    mutating func integer() -> Int {
        chance(0.1) ? pick([.min, .max, -1, 0]) : Int.random(in: -3...9, using: &self)
    }

    mutating func double() -> Double {
        pick([
            0, -0.0, 1, -1, 0.5, 1.5, -2.25, 1e300, -1e300, .leastNonzeroMagnitude,
            -.leastNonzeroMagnitude, .greatestFiniteMagnitude, 3, 2.9999999999999996,
        ])
    }

    mutating func float() -> Float {
        pick([0, -0.0, 0.1, -0.1, 1, 2.5, .greatestFiniteMagnitude, .leastNonzeroMagnitude])
    }

    mutating func decimal() -> Decimal {
        let texts = [
            "0", "1", "-1", "0.1", "0.10", "0.01", "-0.1", "10", "100.5", "99.999", "-100.5",
            "12345678901234567890123456789012345678", "0.1000000000000000000000000001", "3", "30",
            "-0.1000000000000000000000000001", "123456789012345678", "1e100", "-1e-100", "1e-100",
        ]
        return Decimal(string: pick(texts)) ?? 0
    }

    mutating func date() -> Date {
        Date(
            milliseconds: pick([
                0, -1, 1, 1_000, 1_700_000_000_123, 1_700_000_000_124, -62_135_596_800_000,
            ]))
    }

    /// A date that may lie between two milliseconds, or beyond what is stored.
    mutating func anyDate() -> Date {
        if chance(0.1) {
            return pick([.distantPast, .distantFuture, Date(timeIntervalSince1970: 1e300)])
        }
        let parts = [0.0003, -0.0004, 0.0007]
        let some = chance(0.5) ? date() : date().addingTimeInterval(pick(parts))
        guard roundsDates, let milliseconds = some.wholeMilliseconds else { return some }
        return Date(milliseconds: milliseconds)
    }

    mutating func data() -> Data {
        pick([
            Data(), Data([0]), Data([0, 0]), Data([0, 1]), Data([1]), Data([1, 0]), Data([255]),
            Data(repeating: 7, count: 200), Data(repeating: 7, count: 201),
            Data(repeating: 7, count: 300), Data(repeating: 0, count: 120),
        ])
    }

    mutating func uuid() -> UUID {
        let last = UInt8.random(in: 0...5, using: &self)
        return UUID(uuid: (pick([0, 128, 255]), 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, last))
    }

    mutating func url() -> URL {
        pick(["http://a.example", "http://a.example/b", "file:///x"].compactMap(URL.init(string:)))
    }

    mutating func id() -> EntityID<Sample> {
        let number = Int.random(in: 0..<40, using: &self)
        if number < 20 { return EntityID("r\(number)") }
        if number < 25 {
            return EntityID(String(repeating: "x", count: 220) + "\(number)")
        }
        let uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
        return EntityID(uuid.uuidString)
    }

    /// A list of few elements, so that equal ones, longer ones and empty ones meet.
    mutating func list<Element>(_ make: (inout Self) -> Element) -> [Element] {
        (0..<pick([0, 0, 1, 1, 2, 3])).map { _ in make(&self) }
    }

    mutating func location() -> GeoLocation {
        GeoLocation(
            latitude: pick([0, -0.0, 1, 1.5, -90, 90]), longitude: pick([0, -0.0, 2, -180]))
    }

    private mutating func addLists(to sample: inout Sample) {
        sample.labels = list { $0.pick(["", "a", "a\0", "é", "e\u{301}", "b", Self.longText]) }
        sample.nums = list { $0.pick([0, 1, 1, -1, .max]) }
        sample.shorts = optional { $0.list { $0.pick([0, 1, -1]) } }
        sample.words = list { $0.pick([0, 1, .min]) }
        sample.marks = list { $0.chance(0.5) }
        sample.ratios = list { $0.float() }
        sample.scores = list { $0.pick([0, -0.0, 1, -1.5]) }
        sample.prices = list { generator in
            Decimal(string: generator.pick(["0.1", "0.10", "1", "-1", "1e30"])) ?? 0
        }
        sample.days = list { $0.date() }
        sample.blobs = list { $0.pick([Data(), Data([0]), Data([0, 255]), Data([1])]) }
        sample.tokens = list { $0.uuid() }
        sample.links = list { $0.url() }
        sample.spots = list { $0.location() }
        sample.place = optional { $0.location() }
        sample.home = location()
    }

    /// Samples with different ids.
    mutating func samples(count: Int) -> [Sample] {
        (0..<count).map { position in
            var sample = Sample(
                id: EntityID(position < 40 ? "r\(position)" : "s\(next() % 100_000)-\(position)"))
            sample.name = normalText()
            sample.nick = optional { $0.text() }
            sample.age = integer()
            sample.grade = optional { Int16(truncatingIfNeeded: $0.integer()) }
            sample.size = Int32(truncatingIfNeeded: integer())
            sample.score = double()
            sample.ratio = optional { $0.float() }
            sample.price = decimal()
            sample.bonus = optional { $0.decimal() }
            sample.born = date()
            sample.seen = optional { $0.date() }
            sample.isOn = chance(0.5)
            sample.flag = optional { $0.chance(0.5) }
            sample.blob = optional { $0.data() }
            sample.token = uuid()
            sample.link = optional { $0.url() }
            sample.boss = optional { $0.id() }
            sample.level = chance(0.4) ? 7 : Int.random(in: 5...9, using: &self)
            addLists(to: &sample)
            return sample
        }
    }
}
