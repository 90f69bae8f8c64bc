import Foundation
@_spi(_Unicode) import Swift
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct QueryOrderedKeyTests {
    private func key(_ value: RecordValue, _ type: AttributeType, textBytesMax: Int = .max)
        -> [UInt8]
    {
        var buffer = ByteBuffer()
        OrderedKey.append(value, type: type, to: &buffer, textBytesMax: textBytesMax)
        return [UInt8](buffer.bytes)
    }

    private func storedKey(_ value: RecordValue, _ type: AttributeType) throws -> [UInt8] {
        var writer = _FieldWriter()
        var body = ByteBuffer()
        var buffer = ByteBuffer()
        try writer.write(value, of: FieldID(1))
        writer.finish(into: &body)
        let fields = try #require(PackedFields(body.bytes))
        OrderedKey.append(try fields.value(of: FieldID(1)), type: type, to: &buffer)
        return [UInt8](buffer.bytes)
    }

    /// What Swift documents for `<`; see `Comparison.holds` on strings.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        left._nfc.lexicographicallyPrecedes(right._nfc)
    }

    /// Checks the order of the whole and of the cut keys of all pairs.
    private func check<Element: Comparable>(
        _ elements: [Element], _ type: AttributeType,
        by precedes: (Element, Element) -> Bool = { $0 < $1 }, _ value: (Element) -> RecordValue
    ) throws {
        for left in elements {
            let leftKey = key(value(left), type)
            let leftCut = key(value(left), type, textBytesMax: OrderedKey.textBytesMax)
            #expect(try storedKey(value(left), type) == leftCut)
            #expect(key(.null, type).lexicographicallyPrecedes(leftKey))
            #expect(leftCut.count <= OrderedKey.byteCountMax)
            let tail: [UInt8] = [0, 0, 1, 1, 0xFF]
            #expect(
                (leftCut + tail).withUnsafeBytes { OrderedKey.byteCount(of: type, in: $0) }
                    == leftCut.count)
            for right in elements {
                let rightKey = key(value(right), type)
                let rightCut = key(value(right), type, textBytesMax: OrderedKey.textBytesMax)
                #expect((leftKey == rightKey) == (left == right), "\(left) \(right)")
                #expect(
                    leftKey.lexicographicallyPrecedes(rightKey) == precedes(left, right),
                    "\(left) \(right)")
                if precedes(left, right) { #expect(!rightCut.lexicographicallyPrecedes(leftCut)) }
                if leftCut == rightCut, left != right {
                    #expect(leftCut.withUnsafeBytes { OrderedKey.isCut($0, type: type) })
                }
            }
        }
    }

    @Test func `strings sort as Swift's do`() throws {
        var generator = SeededGenerator(seed: 1)
        var texts: [String] = SeededGenerator.texts
        for _ in 0..<120 {
            let first: String = generator.text()
            let second: String = generator.text()
            texts.append(first + second)
        }
        try check(texts, .string, by: Self.precedes) { .string($0) }
    }

    @Test func `strings of random scalars sort as Swift's do`() throws {
        var generator = SeededGenerator(seed: 2)
        let scalars: [ClosedRange<UInt32>] = [
            0...0x7F, 0x80...0x3FF, 0x300...0x36F, 0x900...0x9FF, 0x1100...0x11FF,
            0x1E00...0x1FFF, 0xAC00...0xD7A3, 0xF900...0xFFFF, 0x1F000...0x1F9FF,
        ]
        let texts = (0..<400).map { _ in
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let range = generator.pick(scalars)
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) {
                    text.append(scalar)
                }
            }
            return String(text)
        }
        try check(texts, .string, by: Self.precedes) { .string($0) }
    }

    @Test func `integers, dates and doubles sort by value`() throws {
        let numbers: [Int64] = [.min, .min + 1, -256, -255, -1, 0, 1, 255, 256, .max - 1, .max]
        try check(numbers, .int64) { .int64($0) }
        try check(numbers, .date) { .date(milliseconds: $0) }
        let doubles: [Double] = [
            -.greatestFiniteMagnitude, -1e10, -1, -.leastNonzeroMagnitude, -0.0, 0,
            .leastNonzeroMagnitude, 0.1, 1, 1e10, .greatestFiniteMagnitude,
        ]
        try check(doubles, .double) { .double($0) }
        try check(doubles.map { Float($0) }.filter(\.isFinite), .float) { .double(Double($0)) }
        try check([0, 1], .bool) { .bool($0 == 1) }
    }

    @Test func `decimals sort by value and keep every digit`() throws {
        var generator = SeededGenerator(seed: 3)
        let random = (0..<150).map { _ in
            let number = Decimal(Int64.random(in: -99_999...99_999, using: &generator))
            let exponent = Int.random(in: -40...40, using: &generator)
            return number * (Decimal(string: "1e\(exponent)") ?? 1)
        }
        try check(random + (0..<60).map { _ in generator.decimal() }, .decimal) { .decimal($0) }
    }

    @Test func `data, UUIDs and references sort by bytes`() throws {
        var generator = SeededGenerator(seed: 4)
        let data = (0..<60).map { _ in QueryDifferentialTests.Bytes(generator.data()) }
        try check(data, .data) { .bytes($0.data) }
        try check((0..<60).map { _ in generator.uuid() }, .uuid) { .uuid($0) }
        try check((0..<80).map { _ in generator.id() }, .reference) { .reference($0.key) }
    }

    @Test func `a value of another type counts as null`() throws {
        #expect(try storedKey(.string("a"), .int64) == [0])
        #expect(try storedKey(.int64(2), .bool) == [0])
        #expect(try storedKey(.bytes(Data([1])), .string) == [0])
        #expect(try storedKey(.double(1e300), .float) == [0])
    }

    @Test func `a key with the longest value and record key fits into LMDB`() {
        let longest = RecordKey(.text(String(repeating: "x", count: 255)))
        let value = key(
            .string(String(repeating: "é", count: 300)), .string,
            textBytesMax: OrderedKey.textBytesMax)
        #expect(value.count <= OrderedKey.byteCountMax)
        #expect(5 + OrderedKey.byteCountMax + longest.byteCount <= 511)
        let reference = key(
            .reference(longest), .reference, textBytesMax: OrderedKey.textBytesMax)
        #expect(reference.count == 1 + OrderedKey.referenceBytesMax)
    }
}
