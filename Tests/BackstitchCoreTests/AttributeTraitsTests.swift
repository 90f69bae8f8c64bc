import Foundation
import TestBudget
import Testing
@testable import BackstitchCore

/// Every row of the table of attribute types, over the values that every type may meet.
@Suite(.budgeted) struct AttributeTraitsTests {
    private static let types = AttributeTypes.all.map { $0.type }

    /// Values of every kind, with the bounds of their types.
    private static let values: [RecordValue] = [
        .bool(false), .bool(true), .int64(.min), .int64(-1), .int64(0), .int64(1), .int64(40_000),
        .int64(.max), .double(-.greatestFiniteMagnitude), .double(-0.0), .double(0.1),
        .double(.greatestFiniteMagnitude), .string(""), .string("a"), .string("\u{0}ä\"\\"),
        .string("https://example.org/x"), .string("00000000-0000-0000-0000-00000000000a"),
        .bytes(Data()), .bytes(Data([0, 255])), .date(milliseconds: 1 - 1_000_000_000_000_000),
        .date(milliseconds: 0), .date(milliseconds: 1_000_000_000_000_000 - 1),
        .decimal(Decimal(-12.5)), .decimal(0),
        .decimal(Decimal.greatestFiniteMagnitude), .uuid(uuid(0)), .uuid(uuid(255)),
        .reference(RecordKey(RecordName("r"))), .reference(RecordKey(RecordName("s"))),
        .location(GeoLocation(latitude: -90, longitude: 180)),
        .location(GeoLocation(latitude: 1.5, longitude: -2)),
        .duration(nanoseconds: .min), .duration(nanoseconds: 0), .duration(nanoseconds: .max),
        .asset(Asset(content: hash, serviceChecksum: hash, byteCount: .max)),
        .asset(Asset(content: nil, serviceChecksum: "AVlRbrfU", byteCount: 0)),
    ]

    private static let hash = SHA256.hexadecimal(of: [1])

    private static func uuid(_ byte: UInt8) -> UUID {
        UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte))
    }

    private func values(_ traits: any AttributeTraits.Type) -> [RecordValue] {
        Self.values.filter { $0.tag == traits.tag }
    }

    private func stored(_ value: RecordValue, _ body: (_FieldValue) throws -> Void) throws {
        var writer = _FieldWriter()
        try writer.write(value, of: FieldID(1))
        var buffer = ByteBuffer(capacity: 64)
        writer.finish(into: &buffer)
        let field = try #require(try PackedFields(buffer.bytes)?.value(of: FieldID(1)))
        try body(field)
    }

    private func key(_ value: RecordValue, _ type: AttributeType) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        OrderedKey.append(value, type: type, to: &buffer)
        return Array(buffer.bytes)
    }

    @Test func `every type but lists has one row, and every tag but null and lists a type`() {
        let scalars = AttributeType.allCases.filter { $0.element == nil }
        #expect(Set(Self.types) == Set(scalars) && Self.types.count == scalars.count)
        for type in scalars {
            let found: AttributeType? = type.traits.map { $0.type }
            #expect(found == type)
        }
        for type in AttributeType.allCases where type.element != nil {
            #expect(type.traits == nil && !type.isOrdered)
        }
        for value in Self.values {
            let tag: FieldTag? = value.traits.map { $0.tag }
            #expect(tag == value.tag)
        }
        for value in [
            RecordValue.null, .list([]), .unknown(UnknownValue(typeName: "X", json: "1")),
        ] {
            #expect(value.traits == nil)
        }
        #expect(Set(Self.values.map { $0.tag.name }) == Set(AttributeTypes.kinds))
    }

    @Test(arguments: types)
    func `values come back from every form`(type: AttributeType) throws {
        let traits = try #require(type.traits)
        #expect(!values(traits).isEmpty)
        for value in values(traits) {
            try stored(value) { field in
                #expect(field.tag == traits.tag && field.isWellFormed)
                let decoded = try field.decoded()
                let read = try traits.value(payload: field.payload)
                #expect(decoded == value && read == value)
                // What a condition sees is what a reader gets, in the type.
                let seen = field.stored(as: type)
                #expect(seen == .null || seen.tag == traits.tag)
                if traits.readsAll { #expect(seen == value && value.isReadable(as: type)) }
            }
            var json = ByteBuffer(capacity: 64)
            value.write(taggedInto: &json)
            #expect(try RecordValue(tagged: JSONParser.parse(Array(json.bytes))) == value)
            let coded = try JSONEncoder().encode(value)
            #expect(try JSONDecoder().decode(RecordValue.self, from: coded) == value)
            #expect(!traits.text(of: value).isEmpty)
        }
    }

    @Test(arguments: types)
    func `what was saved goes to the service and back`(type: AttributeType) throws {
        let traits = try #require(type.traits)
        for value in Self.values {
            guard let saved = try? value.saved(as: type) else { continue }
            #expect(saved.tag == traits.tag && saved.isReadable(as: type))
            let schema = AttributeSchema(name: "a", type: type, isLossless: type == .decimal)
            let sent = ServiceMapping.serviceValue(saved, of: schema)
            #expect(sent.scalarType == (type == .decimal ? .string : traits.serviceType))
            let (back, fits) = ServiceMapping.storedValue(sent, of: type)
            #expect(fits && back == saved, "\(saved)")
            // A list of it, by the list's type.
            guard let list = type.list else { continue }
            let sentList = ServiceMapping.serviceValue(.list([saved]), of: schema)
            #expect(ServiceMapping.storedValue(sentList, of: list) == (.list([saved]), true))
        }
    }

    @Test(arguments: types)
    func `the order of values is that of their keys`(type: AttributeType) throws {
        let traits = try #require(type.traits)
        #expect(key(.null, type) == [OrderedKey.null])
        for left in values(traits) {
            let leftKey = key(left, type)
            guard type.isOrdered else {
                #expect(leftKey == [OrderedKey.null])
                #expect(left.matches(.equal, left) && !left.matches(.lessOrEqual, left))
                continue
            }
            let isKey = leftKey.withUnsafeBytes {
                OrderedKey.byteCount(of: type, in: $0) == leftKey.count
            }
            #expect(isKey)
            try stored(left) { field in
                guard field.stored(as: type) == left else { return }
                var buffer = ByteBuffer(capacity: 64)
                OrderedKey.append(field, type: type, to: &buffer)
                #expect(Array(buffer.bytes) == leftKey)
            }
            for right in values(traits) {
                let rightKey = key(right, type)
                #expect(left.matches(.less, right) == leftKey.lexicographicallyPrecedes(rightKey))
                #expect(left.matches(.equal, right) == (leftKey == rightKey))
                #expect(left.matches(.notEqual, right) == (leftKey != rightKey))
                #expect(left.matches(.greaterOrEqual, right) != left.matches(.less, right))
                #expect(left.matches(.lessOrEqual, right) != left.matches(.greater, right))
            }
        }
    }

    @Test(arguments: types)
    func `null and values of other kinds do not fit`(type: AttributeType) throws {
        let traits = try #require(type.traits)
        #expect(RecordValue.null.converted(to: type) == .null)
        #expect(try RecordValue.null.saved(as: type) == .null)
        #expect(traits.converted(.null) == nil && traits.value(service: .null) == nil)
        for value in Self.values {
            guard let converted = value.converted(to: type) else {
                #expect(throws: ValueError.self) { try value.saved(as: type) }
                #expect(key(value, type) == [OrderedKey.null])
                continue
            }
            #expect(converted.tag == traits.tag)
        }
        #expect(traits.literal("§", isQuoted: false) == nil)
        #expect(!traits.literalExample.isEmpty)
        if let json = try? traits.value(json: .array([])) { Issue.record("\(json)") }
    }
}
