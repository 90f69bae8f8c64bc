import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import BackstitchViews
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Entity private struct Oddity {
    var id = ID()
    var text: String
    var words: [String] = []
}

/// Odd texts as values, elements of lists, names and words of a search: here, on another device, and in
/// an export.
@Suite(.budgeted(places: 2)) struct OddTextTests {
    private static let search = TextIndex("search", TextSource(Oddity.self, \.text))

    /// A record for each text; one with all of them; and one for each text that can be its name.
    private static let oddities: [Oddity] = {
        var oddities = OddTexts.all.enumerated().map { place, text in
            Oddity(id: id(of: place), text: text, words: [text, "", text])
        }
        oddities.append(Oddity(id: "every text", text: "", words: OddTexts.all))
        for text in OddTexts.all where OddTexts.refusal(of: text) == nil {
            oddities.append(Oddity(id: Oddity.ID(text), text: text))
        }
        return oddities
    }()

    private static func id(of place: Int) -> Oddity.ID { Oddity.ID("place \(place)") }

    private func store() throws -> Store {
        try Store.inMemory(
            schema: StoreSchema(Oddity.self),
            configuration: StoreConfiguration(projections: [Self.search]))
    }

    private func engine(_ fixture: HubFixture) throws -> SyncEngine {
        SyncEngine(
            store: try store(),
            service: try CloudKitRecordService(
                fixture.configuration(), client: DirectClient(fixture.hub)),
            configuration: SyncConfiguration(zoneName: "Odd", syncOnSave: false))
    }

    private func save(_ oddities: [Oddity], in store: Store) async throws {
        try await store.write { transaction in
            for oddity in oddities { try transaction.save(oddity) }
        }
    }

    /// The names of the records that a store lacks, has besides, or has with other bytes.
    private func differences(_ store: Store, _ expected: [Oddity]) throws -> [String] {
        func contents(_ oddities: [Oddity]) -> [[UInt8]: [[UInt8]]] {
            let pairs = oddities.map { oddity in
                (Array(oddity.id.name.utf8), ([oddity.text] + oddity.words).map { Array($0.utf8) })
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        let (found, wanted) = (
            contents(try store.read { try $0.fetch(Oddity.self) }), contents(expected)
        )
        return Set(found.keys).union(wanted.keys).filter { found[$0] != wanted[$0] }
            .map { "\($0.prefix(40))" }
    }

    @Test func `there are many odd texts, and each is there once`() {
        #expect(OddTexts.all.count > 250)
        #expect(Set(OddTexts.all.map { Array($0.utf8) }).count == OddTexts.all.count)
    }

    @Test func `odd texts reach another device as they are, and are found there`() async throws {
        let fixture = try await HubFixture()
        let (phone, laptop) = (try engine(fixture), try engine(fixture))
        try await save(Self.oddities, in: phone.store)
        try await phone.sync()
        #expect(try differences(phone.store, Self.oddities) == [])
        // The names of a service are printable ASCII; a record with another name stays, with the reason.
        let taken = Self.oddities.filter { oddity in
            oddity.id.name.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        }
        let parked = try phone.parked()
        #expect(parked.count == Self.oddities.count - taken.count)
        #expect(parked.allSatisfy { $0.message.contains("ASCII") })
        try await laptop.sync()
        #expect(try differences(laptop.store, taken) == [])
        for (place, text) in OddTexts.all.enumerated() {
            let (typed, found) = try laptop.store.read { transaction in
                (
                    try transaction.view(of: Self.search).records(
                        TextQuery(text), of: Oddity.self, limit: 1),
                    try transaction.view(of: Self.search).records(
                        TextQuery.phrase(text), of: Oddity.self, limit: 1_000)
                )
            }
            let hasWord = text.unicodeScalars.contains {
                $0.properties.isAlphabetic || $0.properties.numericType != nil
            }
            #expect(
                found.contains { $0.id == Self.id(of: place) } == hasWord,
                "\(text.debugDescription)")
            #expect(hasWord || typed.isEmpty, "\(text.debugDescription)")
        }
        #expect(try laptop.store.verify().problems == [])
        await phone.stop()
        await laptop.stop()
    }

    /// The bytes of a text without the byte order mark at its start, which Foundation's JSON reader drops.
    private static func asFoundationReads(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    @Test func `odd texts are exported as JSON that others read, and imported again`()
        async throws
    {
        let (store, copy) = (try self.store(), try self.store())
        try await save(Self.oddities, in: store)
        var bytes: [UInt8] = []
        try store.export { bytes += $0 }
        var texts: [[UInt8]: [UInt8]] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let json = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
            let values = json?["values"] as? [String: Any]
            let name = try #require(json?["record"] as? String)
            let text = try #require((values?["text"] as? [String: Any])?["string"] as? String)
            texts[Self.asFoundationReads(name)] = Self.asFoundationReads(text)
        }
        #expect(texts.count == Self.oddities.count)
        for oddity in Self.oddities
        where texts[Self.asFoundationReads(oddity.id.name)]
            != Self.asFoundationReads(oddity.text)
        {
            Issue.record("\(oddity.id.name.debugDescription) is exported as another text")
        }
        var next: [UInt8]? = bytes
        let report = try await copy.importRecords(from: {
            defer { next = nil }
            return next
        })
        #expect(report.inserted == Self.oddities.count && report.failed == 0)
        #expect(try differences(copy, Self.oddities) == [])
    }

    @Test func `a text that can't be a name is refused when it is saved, with the reason`()
        async throws
    {
        let store = try self.store()
        var reasons: Set<String> = []
        for text in OddTexts.all {
            guard let reason = OddTexts.refusal(of: text) else { continue }
            reasons.insert(reason)
            let error = await #expect(throws: StoreError.self) {
                try await save([Oddity(id: Oddity.ID(text), text: text)], in: store)
            }
            #expect(error?.code == .invalidName)
            #expect(error?.message.contains(reason) == true, "\(text.debugDescription)")
        }
        #expect(reasons.count == 4)
        #expect(try store.read { try $0.count(Oddity.self) } == 0)
    }
}
