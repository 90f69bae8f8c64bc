import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity("Specimen") private struct Specimen: Equatable {
    var id = ID()
    @Attribute(.indexed) var text: String?
    @Attribute(.indexed) var date: Date?
    var double: Double?
    var number: Int64?
    var decimal: Decimal?
    var note: String?
}

extension Specimen {
    /// The specimen at a place: names of one length sort by their numbers.
    static func at(_ place: Int) -> Specimen { Specimen(id: ID("n\(1_000 + place)")) }
}

/// Values that other programs changed on their way: read and saved again they are no edit, and another
/// device has the same after an edit of another field.
@Suite(.budgeted) struct ValueJourneyTests {
    private let schema = StoreSchema(Specimen.self)
    private let cloud = SimulatedCloud()

    /// Saves, reads, saves again, synchronises, and has another device edit.
    ///
    /// - Returns: What was read first.
    private func travel(_ specimens: [Specimen]) async throws -> [Specimen] {
        let phone = try Device(cloud, schema: schema)
        let laptop = try Device(cloud, "laptop", schema: schema)
        try await phone.store.write { transaction in
            for specimen in specimens { _ = try transaction.save(specimen) }
        }
        let stored = try phone.all(Specimen.self)
        let outcomes = try await phone.store.write { transaction in
            var outcomes: [WriteTransaction.SaveOutcome] = []
            for specimen in stored { outcomes.append(try transaction.save(specimen)) }
            return outcomes
        }
        #expect(outcomes.allSatisfy { $0 == .unchanged })
        try await phone.sync()
        try await laptop.sync()
        #expect(try laptop.all(Specimen.self) == stored)
        let noted = stored.map { specimen -> Specimen in
            var specimen = specimen
            specimen.note = "seen"
            return specimen
        }
        try await laptop.store.write { transaction in
            for specimen in noted { _ = try transaction.save(specimen) }
        }
        try await laptop.sync()
        #expect(try await phone.sync().conflicts == 0)
        #expect(try phone.all(Specimen.self) == noted)
        try await phone.expectSettled()
        return stored
    }

    @Test func `dates are whole milliseconds from the first save on`() async throws {
        var generator = SeededGenerator(seed: 1)
        var seconds: [Double] = [
            0, -0.0004, -0.0006, 1_000_000_000.123_456_789, -62_135_596_800, 253_402_300_799.9,
        ]
        for _ in 0..<300 { seconds.append(Double.random(in: -6e10...2e11, using: &generator)) }
        let specimens = seconds.enumerated().map { place, seconds -> Specimen in
            var specimen = Specimen.at(place)
            specimen.date = Date(timeIntervalSince1970: seconds)
            return specimen
        }
        let stored = try await travel(specimens)
        for (specimen, seconds) in zip(stored, seconds) {
            let date = try #require(specimen.date)
            #expect(abs(date.timeIntervalSince1970 - seconds) <= 0.000_6)
        }
    }

    @Test func `doubles and decimals keep every digit`() async throws {
        var generator = SeededGenerator(seed: 2)
        var doubles: [Double] = [
            0.1, 1.0 / 3.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1.5,
        ]
        for _ in 0..<400 {
            let double = Double(bitPattern: generator.next())
            if double.isFinite { doubles.append(double) }
        }
        let specimens = doubles.enumerated().map { place, double -> Specimen in
            var specimen = Specimen.at(place)
            specimen.double = double
            // Fifteen digits, which a double holds.
            let digits = Int64(generator.next() % 1_000_000_000_000_000)
            let scale: Decimal = place.isMultiple(of: 2) ? 1_000 : 1_000_000_000
            specimen.decimal = Decimal(digits) / scale
            return specimen
        }
        let stored = try await travel(specimens)
        #expect(stored.map(\.double) == specimens.map(\.double))
        #expect(stored.map(\.decimal) == specimens.map(\.decimal))
    }

    @Test func `integers around every power of two stay as they are`() async throws {
        var numbers: [Int64] = [.min, .max]
        for shift in 0..<63 {
            let power = Int64(1) << shift
            numbers += [power - 1, power, -power, -power + 1]
        }
        let specimens = numbers.enumerated().map { place, number -> Specimen in
            var specimen = Specimen.at(place)
            specimen.number = number
            return specimen
        }
        #expect(try await travel(specimens).map(\.number) == numbers)
    }

    @Test func `texts of every kind keep their bytes, and are found`() async throws {
        let texts = [
            "", " ", "\0", "a\0b", "\u{1}\u{1F}\u{7F}", "e\u{301}", "\u{E9}", "\u{2028}", "\u{85}",
            "\u{FEFF}x", "\u{202E}abc", "\r\n", "\n", "👩‍👩‍👧", "🇩🇪🇫🇷", "각",
            "\u{1100}\u{1161}\u{11A8}", "\u{3A9}", "\u{2126}", "'; DROP TABLE x; --",
            "<script>alert(1)</script>", "${x} %s %n", "\\", "\"", "../../etc/passwd", "NaN",
            "null", "-1e309", "\u{10FFFF}", "İıſ\u{212A}",
            "a" + String(repeating: "\u{301}", count: 1_000),
        ]
        let specimens = texts.enumerated().map { place, text -> Specimen in
            var specimen = Specimen.at(place)
            specimen.text = text
            return specimen
        }
        let stored = try await travel(specimens)
        #expect(stored.map { Array(($0.text ?? "").utf8) } == texts.map { Array($0.utf8) })
        let device = try Device(cloud, "third", schema: schema)
        try await device.sync()
        for text in texts {
            let query = Query<Specimen>().where(#Predicate { $0.text == text })
            let count = try device.store.read { try $0.count(query) }
            #expect(count == texts.filter { $0 == text }.count, "\(Array(text.utf8))")
        }
    }
}
