import BackstitchCore
import Foundation
import TestBudget
import Testing

/// Texts, numbers and names are written as JSON by words; here is what they have to be, one character at a time.
@Suite(.budgeted) struct JSONTextTests {
    private static func written(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        // What stands before it stays, and what is written later comes after it.
        buffer.append(UInt8(ascii: "["))
        body(&buffer)
        buffer.append(UInt8(ascii: "]"))
        return Array(buffer.bytes)
    }

    private static func expected(_ text: String) -> [UInt8] {
        var json = "[\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": json += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                json += "\\u00" + (scalar.value < 16 ? "0" : "")
                json += String(scalar.value, radix: 16, uppercase: true)
            default: json.unicodeScalars.append(scalar)
            }
        }
        return Array((json + "\"]").utf8)
    }

    /// The name that a stored key spells; nil if it spells none, and then nothing is written.
    private static func name(of key: UnsafeRawBufferPointer) -> [UInt8]? {
        var isName = false
        let json = written { isName = $0.append(jsonNameOf: key) }
        return isName || json != Array("[]".utf8) ? json : nil
    }

    /// Bytes of texts: ASCII, letters beyond it, what JSON escapes, and broken characters.
    private static func bytes(_ generator: inout SeededGenerator) -> [UInt8] {
        let broken: [[UInt8]] = [
            [0xC0, 0x80], [0xC2], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xE2, 0x82],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
            [0xFF], [0xF0, 0x9F, 0x98],
        ]
        let whole = ["é", "ß", "日", "\u{7FF}", "\u{800}", "\u{FFFF}", "😀", "\u{10FFFF}"]
        var bytes: [UInt8] = []
        let kinds = generator.below(4)
        for _ in 0..<generator.below(24) {
            switch generator.below(12) {
            case 0 where kinds > 0: bytes += Array(generator.pick(whole).utf8)
            case 1 where kinds > 1: bytes.append(generator.pick([0x22, 0x5C, 0x00, 0x1F, 0x0A]))
            case 2 where kinds > 2: bytes += generator.pick(broken)
            default: bytes.append(UInt8(0x20 + generator.below(0x60)))
            }
        }
        return bytes
    }

    @Test func `a text is written as its characters are`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<60_000 {
            let bytes = Self.bytes(&generator)
            let text = String(decoding: bytes, as: UTF8.self)
            let json = bytes.withUnsafeBytes { bytes in
                Self.written { $0.append(jsonText: bytes) }
            }
            guard json != Self.expected(text) else { continue }
            Issue.record("\(bytes) is written as \(json)")
            return
        }
    }

    @Test func `bytes are a text if the standard library says so`() {
        func check(_ bytes: [UInt8]) -> Bool {
            let text = bytes.withUnsafeBytes { String(utf8: $0) }
            return text == String(validating: bytes, as: UTF8.self)
        }
        for first in UInt8.min...UInt8.max {
            #expect(check([first]))
            for second in UInt8.min...UInt8.max {
                for bytes in [
                    [first, second], [first, second, 0x80], [first, second, 0x80, 0x80],
                    [first, second, 0xBF, 0xBF, 0x41],
                    [0x41, 0x41, 0x41, 0x41, 0x41, 0x41, first, second],
                    [
                        0xC3, 0xA9, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, first,
                        second, 0xBF,
                    ],
                ] where !check(bytes) {
                    Issue.record("\(bytes)")
                    return
                }
            }
        }
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<60_000 {
            let bytes = Self.bytes(&generator)
            guard !check(bytes) else { continue }
            Issue.record("\(bytes)")
            return
        }
    }

    @Test func `whole numbers have their digits`() {
        var generator = SeededGenerator(seed: 3)
        var numbers: [Int64] = [0, .min, .max, .min + 1]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1, -power + 1, -power, -power - 1]
        }
        for bits in 0..<20_000 {
            numbers.append(Int64(bitPattern: generator.next() >> UInt64(bits % 64)))
        }
        for number in numbers {
            let json = Self.written { $0.append(decimal: number) }
            guard json != Array("[\(number)]".utf8) else { continue }
            Issue.record("\(number) is written as \(String(decoding: json, as: UTF8.self))")
            return
        }
    }

    @Test func `numbers with fractions are described as Swift does`() {
        var generator = SeededGenerator(seed: 4)
        var numbers: [Double] = [
            0, -0.0, .nan, .infinity, -.infinity, Double.greatestFiniteMagnitude,
            Double.leastNonzeroMagnitude,
            0.01, 0.005, 0.015, 1e13, 1e15, 1e16, 9_999_999_999_999.99, 1.005, 0.1 + 0.2,
        ]
        for _ in 0..<20_000 {
            let hundredths = Int64(bitPattern: generator.next()) >> Int64(generator.below(60))
            let number = Double(hundredths) / 100
            numbers += [number, number.nextUp, number.nextDown, -number]
            numbers.append(Double(bitPattern: generator.next()))
        }
        for number in numbers {
            let json = Self.written { $0.append(number: number) }
            guard json != Array("[\(number)]".utf8) else { continue }
            Issue.record("\(number) is written as \(String(decoding: json, as: UTF8.self))")
            return
        }
    }

    @Test func `names are written from values and from keys alike`() {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2_000 {
            let uuid = UUID(
                uuid: withUnsafeBytes(of: (generator.next(), generator.next())) {
                    $0.loadUnaligned(as: uuid_t.self)
                })
            let json = Array("[\"\(uuid.uuidString)\"]".utf8)
            #expect(Self.written { $0.append(json: RecordName(uuid.uuidString)) } == json)
            let key = RecordKey(.uuid(uuid)).bytes
            key.withUnsafeBytes { key in
                #expect(Self.name(of: key) == json)
                #expect(Self.name(of: UnsafeRawBufferPointer(rebasing: key.dropLast())) == nil)
            }
        }
        let key = RecordKey(.text("a \"name\" é")).bytes
        key.withUnsafeBytes { key in
            #expect(Self.name(of: key) == Self.expected("a \"name\" é"))
        }
    }
}
