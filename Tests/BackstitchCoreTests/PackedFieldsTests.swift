import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct PackedFieldsTests {
    static let values: [RecordValue] = [
        .bool(true), .bool(false), .int64(.min), .int64(-1), .double(-0.5), .string(""),
        .string("é🧵\0"), .bytes(Data()), .bytes(Data([1, 2])), .date(milliseconds: -1),
        .decimal(Decimal(string: "-1.50") ?? 0), .uuid(UUID()),
        .reference(RecordKey(.text("name"), zone: 2)), .reference(RecordKey(.uuid(UUID()))),
        .location(GeoLocation(latitude: 1, longitude: -2)), .list([]),
        .list([.int64(1), .null, .string("x")]),
    ]

    private func pack(_ fields: [(FieldID, RecordValue)]) throws -> [UInt8] {
        var writer = _FieldWriter()
        for (field, value) in fields { try writer.write(value, of: field) }
        var output = ByteBuffer()
        writer.finish(into: &output)
        return Array(output.bytes)
    }

    private func read(_ bytes: [UInt8]) throws -> Fields {
        try bytes.withUnsafeBytes { raw in
            guard let packed = PackedFields(raw) else { throw FieldError(.damaged) }
            return try Fields(packed)
        }
    }

    @Test func `every kind of value comes back, in any order of writing`() throws {
        let fields = Self.values.enumerated().map { (FieldID(UInt16($0 * 3 + 1)), $1) }
        let straight = try pack(fields)
        #expect(try pack(fields.reversed()) == straight)
        #expect(try read(straight) == Fields(fields))
        straight.withUnsafeBytes { #expect(PackedFields($0)?.isWellFormed == true) }
    }

    @Test(arguments: [0, 126, 127, 16_382, 16_383, 65_521, 65_522, 65_536, 300_000])
    func `narrow and wide offsets`(count: Int) throws {
        let text = String(repeating: "x", count: count)
        let fields: [(FieldID, RecordValue)] = [
            (FieldID(2), .string(text)), (FieldID(200), .string("end")),
            (FieldID(201), .int64(7)),
        ]
        let bytes = try pack(fields)
        // A tag and the text, the others, and four bytes a value.
        #expect(bytes[0] == (count + 1 + 4 + 9 + 12 > 65_535 ? 2 : 1))
        #expect(try read(bytes) == Fields(fields))
        bytes.withUnsafeBytes { #expect(PackedFields($0)?.isWellFormed == true) }
        let wide = try pack(fields + [(FieldID(256), .bool(true))])
        #expect(wide[0] == 2)
        #expect(try read(wide) == Fields(fields + [(FieldID(256), .bool(true))]))
    }

    @Test(arguments: [10, 70_000])
    func `values of fixed size come first, and all are found by their fields`(count: Int) throws {
        let text = RecordValue.string(String(repeating: "x", count: count))
        let fields: [(FieldID, RecordValue)] = [
            (FieldID(1), text), (FieldID(3), .int64(5)), (FieldID(4), .decimal(2)),
            (FieldID(9), .bool(true)), (FieldID(10), .uuid(UUID())),
        ]
        let bytes = try pack(fields)
        try bytes.withUnsafeBytes { raw in
            let packed = try #require(PackedFields(raw))
            let header = count > 65_535 ? 8 + 5 * 6 : 4 + 5 * 3
            // Tag and number stand right behind the directory.
            #expect(raw[header] == FieldTag.int64.rawValue && raw[header + 1] == 5)
            let row = RowBytes(key: raw, fields: packed)
            for number in 1...11 as ClosedRange<UInt16> {
                let expected = fields.first { $0.0 == FieldID(number) }?.1
                #expect(try packed.value(of: FieldID(number))?.decoded() == expected)
                #expect(try row.value(of: FieldID(number))?.decoded() == expected)
            }
        }
    }

    @Test func `a field has a largest size`() throws {
        var writer = _FieldWriter()
        let limit = _FieldWriter.fieldBytesMax
        try writer.write(.string(String(repeating: "x", count: limit)), of: FieldID(1))
        #expect(throws: FieldError(.tooLarge(byteCount: limit + 1))) {
            try writer.write(.string(String(repeating: "x", count: limit + 1)), of: FieldID(2))
        }
        try writer.write(.int64(5), of: FieldID(3))
        var output = ByteBuffer()
        writer.finish(into: &output)
        #expect(PackedFields(output.bytes)?.isWellFormed == true)
        #expect(PackedFields(output.bytes)?.count == 2)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `numbers that are none are refused`(number: Double) {
        var writer = _FieldWriter()
        let location = GeoLocation(latitude: number, longitude: 0)
        for value in [.double(number), .location(location), .list([.double(number)])]
            as [RecordValue]
        {
            #expect(throws: FieldError.self) { try writer.write(value, of: FieldID(1)) }
        }
    }

    @Test func `a refused value leaves nothing behind`() throws {
        var writer = _FieldWriter()
        try writer.write(.int64(1), of: FieldID(1))
        #expect(throws: FieldError.self) {
            try writer.write(.list([.int64(1), .double(.nan)]), of: FieldID(2))
        }
        try writer.write(.int64(3), of: FieldID(3))
        var output = ByteBuffer()
        writer.finish(into: &output)
        let packed = try #require(PackedFields(output.bytes))
        #expect(packed.isWellFormed)
        #expect(try Fields(packed) == [FieldID(1): .int64(1), FieldID(3): .int64(3)])
    }

    @Test func `a reader follows a layout in any order`() throws {
        let bytes = try pack([(FieldID(1), .int64(1)), (FieldID(5), .int64(5))])
        for ids in [[1, 3, 5], [5, 3, 1], [3, 5, 1]] as [[UInt16]] {
            try bytes.withUnsafeBytes { raw in
                let layout = FieldLayout(fields: ids.map { FieldID($0) })
                var reader = _FieldReader(fields: try #require(PackedFields(raw)), layout: layout)
                for (index, id) in ids.enumerated() {
                    let value = try reader.read(Int?.self, at: index)
                    #expect(value == (id == 3 ? nil : Int(id)))
                }
            }
        }
    }

    @Test func `damaged bytes throw and never trap`() throws {
        let fields = Self.values.enumerated().map { (FieldID(UInt16($0 + 1)), $1) }
        let bytes = try pack(fields)
        for offset in bytes.indices {
            for value in [0, 1, 0x7F, 0xFF, bytes[offset] ^ 1] as [UInt8] {
                var damaged = bytes
                damaged[offset] = value
                _ = try? read(damaged)
                damaged.withUnsafeBytes { raw in
                    guard let packed = PackedFields(raw) else { return }
                    _ = packed.isWellFormed
                    _ = packed.isAscending
                    for position in 0..<packed.count { _ = try? packed.rawValue(at: position) }
                    let row = RowBytes(key: raw, fields: packed)
                    for (field, _) in fields { _ = try? row.value(of: field) }
                }
            }
            _ = try? read(Array(bytes[..<offset]))
        }
    }
}
