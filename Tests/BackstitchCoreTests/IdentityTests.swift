import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct IdentityTests {
    @Test func `ids of one generator ascend, also when the clock goes back`() {
        var generator = UUIDv7Generator()
        var random: UInt64 = 1
        var last = ""
        for index in 0..<6_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1
            let milliseconds = UInt64([1000, 1000, 999, 5, 1001][index % 5])
            let uuid = generator.next(milliseconds: milliseconds, random: random)
            #expect(uuid.uuid.6 >> 4 == 7)
            #expect(uuid.uuid.8 >> 6 == 0b10)
            #expect(last < uuid.uuidString)
            last = uuid.uuidString
        }
    }

    @Test func `an id starts with its time`() {
        var generator = UUIDv7Generator()
        let uuid = generator.next(milliseconds: 0x0123_4567_89AB, random: .max)
        #expect(uuid.uuidString.hasPrefix("01234567-89AB-7"))
    }

    @Test func `a canonical UUID is kept as one, any other name as text`() {
        let uuid = UUID()
        #expect(RecordName(uuid.uuidString) == .uuid(uuid))
        let lower = uuid.uuidString.lowercased()
        #expect(RecordName(lower) == .text(lower))
        #expect(RecordName(lower).description == lower)
    }

    @Test func `a UUID's text is that of Foundation, and nothing else is read as one`() throws {
        for _ in 0..<1_000 {
            let uuid = UUID()
            let text = uuid.uuidString
            #expect(uuid.canonicalText == text)
            #expect(UUID(canonicalText: text) == uuid)
            // Each byte, replaced by what can't stand there.
            var bytes = Array(text.utf8)
            let index = Int.random(in: 0..<bytes.count)
            let isDash = bytes[index] == UInt8(ascii: "-")
            bytes[index] = isDash ? UInt8(ascii: "0") : Array("-/:@Gag \0".utf8).randomElement()!
            #expect(UUID(canonicalText: String(decoding: bytes, as: UTF8.self)) == nil)
            #expect(UUID(canonicalText: String(text.dropLast())) == nil)
            #expect(UUID(canonicalText: text + "0") == nil)
        }
    }

    @Test(arguments: ["", "_a", String(repeating: "é", count: 128)])
    func `impossible names say what to do`(name: String) throws {
        let violation = try #require(RecordName(name).violation)
        #expect(violation.contains("record name"))
    }

    @Test(arguments: ["a", "é_", "a\0b", String(repeating: "x", count: 255)])
    func `keys come back from their stored form`(name: String) {
        for zone in [0, 1, 255] as [UInt8] {
            let key = RecordKey(RecordName(name), zone: zone)
            let bytes = key.bytes
            #expect(bytes.count == key.byteCount)
            #expect(bytes.withUnsafeBytes { RecordKey(reading: $0) } == key)
            for count in 0..<bytes.count {
                let cut = bytes[..<count].withUnsafeBytes { RecordKey(reading: $0) }
                #expect(cut == nil)
            }
        }
    }

    @Test func `a key of an impossible length traps nowhere and equals no stored one`() {
        let longest = RecordKey(.text(String(repeating: "x", count: 255)))
        let longer = RecordKey(.text(String(repeating: "x", count: 1000)))
        #expect(longer.bytes.count == RecordKey.byteCountMax)
        #expect(longer.bytes != longest.bytes)
        #expect(longer.bytes.withUnsafeBytes { RecordKey(reading: $0) } == nil)
        #expect(longest < longer)
    }

    @Test func `the keys of UUIDs sort as the UUIDs`() {
        var generator = UUIDv7Generator()
        let keys = (0..<100).map { index in
            RecordKey(.uuid(generator.next(milliseconds: UInt64(index / 3), random: 5)))
        }
        #expect(keys.sorted() == keys)
    }

    @Test func `an id names its zone, and ids of one name differ by it`() {
        struct Model {}
        let list = RecordID.Zone(slot: 2)
        let uuid = UUID()
        #expect(EntityID<Model>("a").zone == .own)
        #expect(EntityID<Model>("a", in: .own) == EntityID<Model>("a"))
        #expect(EntityID<Model>("a", in: .public).key == RecordKey(.text("a"), zone: 1))
        for id in [EntityID<Model>("a", in: list), EntityID(uuid, in: list)] {
            #expect(id.zone == list)
            #expect(id != EntityID<Model>(id.name))
        }
        #expect(EntityID<Model>(uuid.uuidString, in: list) == EntityID(uuid, in: list))
    }

    @Test func `ids travel through JSON`() throws {
        struct Model {}
        for id in [EntityID<Model>("plain"), EntityID<Model>(key: RecordKey(.text("z"), zone: 3))] {
            let data = try JSONEncoder().encode([id])
            #expect(try JSONDecoder().decode([EntityID<Model>].self, from: data) == [id])
        }
    }
}
