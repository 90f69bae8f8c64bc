import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Whether a stored value can be read as an attribute of a type: said without reading it, and done.
@Suite(.budgeted) struct ReadabilityTests {
    /// Every type that an attribute can have, with a way to read it.
    static let readers: [(type: AttributeType, read: @Sendable (_FieldValue) throws -> Void)] = [
        reader(String.self), reader(Bool.self), reader(Int16.self), reader(Int32.self),
        reader(Int64.self), reader(Float.self), reader(Double.self), reader(Decimal.self),
        reader(Date.self), reader(Data.self), reader(UUID.self), reader(URL.self),
        reader(EntityID<Sample>.self), reader(GeoLocation.self), reader([String].self),
        reader([Bool].self), reader([Int16].self), reader([Int32].self), reader([Int64].self),
        reader([Float].self), reader([Double].self), reader([Decimal].self), reader([Date].self),
        reader([Data].self), reader([UUID].self), reader([URL].self), reader([GeoLocation].self),
        reader(Duration.self), reader([Duration].self), reader(Asset.self), reader([Asset].self),
    ]

    private static func reader<Attribute: AttributeValue>(
        _ type: Attribute.Type
    ) -> (type: AttributeType, read: @Sendable (_FieldValue) throws -> Void) {
        (Attribute._attributeType, { _ = try Attribute(_field: $0) })
    }

    static let scalars: [RecordValue] = [
        .bool(true), .int64(0), .int64(1), .int64(2), .int64(-40_000), .int64(.max), .double(0.5),
        .double(1), .double(1e39), .double(1e300), .double(-0.0), .string(""), .string("12"),
        .string("12abc"), .string("1e400"), .string("-1.5"), .string("a b"),
        .string("https://example.org"), .string("00000000-0000-0000-0000-00000000000A"),
        .bytes(Data()), .bytes(Data([1, 2])), .date(milliseconds: 5), .decimal(Decimal(3)),
        .uuid(UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
        .reference(RecordKey(RecordName("r"))), .location(GeoLocation(latitude: 1, longitude: 2)),
        .location(GeoLocation(latitude: 91, longitude: 2)),
        .asset(Asset(content: nil, serviceChecksum: "AVlRbrfU", byteCount: 1)),
    ]

    static let values: [RecordValue] =
        scalars + [.list([])] + scalars.map { .list([$0]) }
        + zip(scalars, scalars.dropFirst()).map { .list([$0, $1]) }

    @Test func `there is a reader of every type`() {
        #expect(Set(Self.readers.map(\.type)) == Set(AttributeType.allCases))
    }

    @Test func `what is said of a value is what reading it does`() throws {
        for value in Self.values {
            var writer = _FieldWriter()
            try writer.write(value, of: FieldID(1))
            var buffer = ByteBuffer()
            writer.finish(into: &buffer)
            let fields = try #require(PackedFields(buffer.bytes))
            let field = try #require(try fields.value(of: FieldID(1)))
            for (type, read) in Self.readers {
                let isRead = (try? read(field)) != nil
                #expect(value.isReadable(as: type) == isRead, "\(value) as \(type)")
                let table = try table(of: AttributeSchema(name: "x", type: type))
                #expect(try table.canRead(fields) == isRead, "\(value) as \(type), packed")
                var unpacked = Fields()
                unpacked[FieldID(1)] = value
                #expect(table.canRead(unpacked) == isRead, "\(value) as \(type), unpacked")
                // What queries see of it is null just where it can't be read.
                if field.stored(as: type) == .null { #expect(!isRead, "\(value) as \(type)") }
            }
        }
    }

    @Test func `an enum reads the values of its cases only, whatever their stored form`() throws {
        let cases = AttributeSchema(
            name: "x", type: .int64, isOptional: true, allowedValues: [.int64(0), .int64(1)])
        let list = AttributeSchema(
            name: "x", type: .stringList, isOptional: true, allowedValues: [.string("a")])
        func isRead(_ value: RecordValue, _ schema: AttributeSchema) throws -> Bool {
            var fields = Fields()
            fields[FieldID(1)] = value
            return try table(of: schema).canRead(fields)
        }
        #expect(try isRead(.int64(1), cases))
        #expect(try isRead(.bool(true), cases))
        #expect(try isRead(.int64(2), cases) == false)
        #expect(try isRead(.null, cases))
        #expect(try isRead(.list([.string("a")]), list))
        #expect(try isRead(.list([.string("a"), .string("b")]), list) == false)
        let mandatory = AttributeSchema(name: "x", type: .string)
        #expect(try isRead(.null, mandatory) == false)
    }

    private func table(of schema: AttributeSchema) throws -> EntityTable {
        var catalog = Catalog(storeID: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
        _ = catalog.intern(entity: "E")
        _ = catalog.intern(attribute: "x", inEntityAt: 0)
        catalog.entities[0].isDeclared = true
        catalog.entities[0].attributes[0].schema = schema
        catalog.entities[0].attributes[0].isDeclared = true
        return EntityTable(catalog.entities[0])
    }
}
