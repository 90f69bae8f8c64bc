import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

private enum Status: String, EnumAttributeValue { case open, closed }
private enum Level: Int16, EnumAttributeValue { case low = 1, high = 9 }

private struct Settings: Codable, Equatable, Sendable {
    var sizes: [String: Int]
    var theme: String?
}

@Suite(.budgeted) struct AttributeTypeTests {
    private func packed<Attribute: AttributeValue>(_ value: Attribute) throws -> [UInt8] {
        var writer = _FieldWriter(layout: FieldLayout(fields: [FieldID(1)]))
        try writer.write(value, at: 0)
        var output = ByteBuffer()
        writer.finish(into: &output)
        return Array(output.bytes)
    }

    private func read<Attribute: AttributeValue>(
        _ bytes: [UInt8], as type: Attribute.Type
    ) throws -> Attribute {
        try bytes.withUnsafeBytes { raw in
            guard let fields = PackedFields(raw) else { throw FieldError(.damaged) }
            var reader = _FieldReader(fields: fields, layout: FieldLayout(fields: [FieldID(1)]))
            return try reader.read(type, at: 0)
        }
    }

    private func roundTrip<Attribute: AttributeValue & Equatable>(_ value: Attribute) throws {
        #expect(try read(packed(value), as: Attribute.self) == value)
        let service = ServiceMapping.serviceValue(value._recordValue, of: nil)
        let (stored, fits) = ServiceMapping.storedValue(service, of: Attribute._attributeType)
        #expect(fits)
        #expect(stored == value._recordValue)
    }

    @Test func `values that differ in digits which their type has not are the same`() {
        let attribute = AttributeSchema("share", Float.self)
        let raw = RecordValue.double(0.875293729486014)
        let typed = RecordValue.double(Double(Float(0.875293729486014)))
        #expect(ServiceMapping.areSame(raw, typed, of: attribute))
        #expect(!ServiceMapping.areSame(raw, typed, of: nil))
        #expect(!ServiceMapping.areSame(raw, .double(0.8753), of: attribute))
    }

    @Test func `references to records of one name in two zones are not the same`() {
        let own = RecordValue.reference(RecordKey(RecordName("x"), zone: 0))
        let other = RecordValue.reference(RecordKey(RecordName("x"), zone: 2))
        #expect(ServiceMapping.areSame(other, other, of: nil))
        #expect(!ServiceMapping.areSame(own, other, of: nil))
        #expect(ServiceMapping.areSame(.list([own, other]), .list([own, other]), of: nil))
        #expect(!ServiceMapping.areSame(.list([own, own]), .list([own, other]), of: nil))
    }

    @Test func `a reference whose type was unknown points to a record of the zone`() {
        let unknown = UnknownValue(typeName: "REFERENCE", json: #"{"recordName":"x"}"#)
        let type = AttributeType?.some(.reference)
        let (stored, fits) = ServiceMapping.storedValue(.unknown(unknown), of: type, zone: 2)
        #expect(fits)
        #expect(stored == .reference(RecordKey(RecordName("x"), zone: 2)))
    }

    @Test func `lists of every scalar come back, from a row and from the service`() throws {
        try roundTrip(["a", "", "é"])
        try roundTrip([true, false])
        try roundTrip([1, -1] as [Int])
        try roundTrip([.min, .max] as [Int16])
        try roundTrip([.min, .max] as [Int32])
        try roundTrip([.min, .max] as [Int64])
        try roundTrip([1.5, -0.25] as [Float])
        try roundTrip([1.5, 1e300] as [Double])
        try roundTrip([Decimal(string: "1.25"), 3].compactMap(\.self))
        try roundTrip([Date(timeIntervalSince1970: 1.5)])
        try roundTrip([Data([1, 2]), Data()])
        try roundTrip([UUID(), UUID()])
        try roundTrip([URL(string: "https://example.org/a")].compactMap(\.self))
        try roundTrip([GeoLocation(latitude: 1, longitude: -2)])
        try roundTrip([Status.open, .closed, .open])
        try roundTrip([] as [String])
        try roundTrip(Optional([1, 2]))
        try roundTrip(GeoLocation(latitude: -90, longitude: 180))
        try roundTrip(Level.high)
    }

    @Test func `every list type is that of its elements`() {
        for type in AttributeType.allCases {
            if let list = type.list {
                #expect(list.element == type)
            } else {
                #expect(type.element != nil || type == .reference)
            }
        }
    }

    @Test func `a list that is not there is empty, an optional one is nil`() throws {
        let empty = try packed(String?.none)
        #expect(try read(empty, as: [String].self) == [])
        #expect(try read(empty, as: [String]?.self) == nil)
        let schema = AttributeSchema("tags", [String].self)
        #expect(!schema.isMandatory)
        #expect(schema.defaultValue == .list([]))
        #expect(AttributeSchema("tags", [String]?.self).defaultValue == nil)
    }

    @Test func `elements that can't be stored are refused`() {
        #expect(throws: FieldError(.notFinite)) { try packed([1, Double.nan]) }
        #expect(throws: FieldError(.outOfRange, index: 0)) {
            try packed([Date.distantFuture * 1e9])
        }
        #expect(throws: FieldError(.outOfRange, index: 0)) {
            try packed([GeoLocation(latitude: 91, longitude: 0)])
        }
    }

    @Test(arguments: [
        GeoLocation(latitude: 90.5, longitude: 0), GeoLocation(latitude: 0, longitude: -181),
        GeoLocation(latitude: .nan, longitude: 0), GeoLocation(latitude: 0, longitude: .infinity),
    ])
    func `a place must be on earth`(location: GeoLocation) {
        #expect(throws: FieldError(.outOfRange, index: 0)) { try packed(location) }
        #expect(
            !ServiceMapping.storedValue(.location(location), of: .location).fits
                || !location.latitude.isFinite || !location.longitude.isFinite)
    }

    @Test func `an enum is its raw value, and an unknown one can't be read`() throws {
        #expect(Status.open._recordValue == .string("open"))
        #expect(AttributeSchema("status", Status?.self).allowedValues?.count == 2)
        let other = try packed("reopened")
        #expect(throws: FieldError(.unknownCase)) { try read(other, as: Status.self) }
        #expect(throws: FieldError(.unknownCase)) {
            try read(packed(["open", "reopened"]), as: [Status].self)
        }
        let schema = AttributeSchema("status", Status.self)
        #expect(ServiceMapping.storedValue(.string("closed"), of: schema).fits)
        let unknown = ServiceMapping.storedValue(.string("reopened"), of: schema)
        #expect(unknown.value == .string("reopened"))
        #expect(!unknown.fits)
    }

    @Test(arguments: [
        ServiceValue.string("a"), .list([.string("a"), .int64(1)]), .list([.list([])]),
        .list([.null]),
    ])
    func `what is no list of the type is kept and does not fit`(value: ServiceValue) {
        let (_, fits) = ServiceMapping.storedValue(value, of: .stringList)
        #expect(!fits)
    }

    @Test func `equal coded values are equal bytes`() throws {
        let names = (0..<50).map { "key\($0)" }
        let forth = Settings(sizes: Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
        let back = Settings(
            sizes: Dictionary(uniqueKeysWithValues: names.reversed().map { ($0, 1) }))
        #expect(try packed(_CodedValue(forth)) == packed(_CodedValue(back)))
        #expect(
            try read(packed(_CodedValue(forth)), as: _CodedValue<Settings>.self).content == forth)
    }

    @Test func `bytes that are no such value can't be read, and no value is written as none`()
        throws
    {
        let bytes = try packed(Data("{}".utf8))
        #expect(throws: FieldError(.notDecodable)) {
            try read(bytes, as: _CodedValue<Settings>.self)
        }
        #expect(throws: FieldError(.notEncodable, index: 0)) { try packed(_CodedValue(Double.nan)) }
    }

    @Test func `a catalog that says nothing of new options is read`() throws {
        let json = """
            {"name":"title","type":1,"isOptional":false,"hasDefault":false,"isIndexed":true,
            "isLossless":false}
            """
        let schema = try JSONDecoder().decode(AttributeSchema.self, from: Data(json.utf8))
        #expect(schema == AttributeSchema("title", String.self, options: [.indexed]))
        let masks: [Set<AttributeSchema.Option>] = [
            [.localOnly], [.notUploaded], [.notDownloaded], [.notUploaded, .notDownloaded], [],
        ]
        for mask in masks {
            let full = AttributeSchema(
                "mood", Level?.self, options: mask.union([.unique]), originalName: "temper")
            let again = try JSONDecoder().decode(
                AttributeSchema.self, from: try JSONEncoder().encode(full))
            #expect(again == full)
            #expect(full.isLocalOnly == (mask.count == 2 || mask == [.localOnly]))
        }
        let alias = AttributeSchema(
            "mood", Level?.self, originalName: "temper", serviceName: "MOOD")
        #expect(alias.fieldName == "MOOD")
    }
}

extension Date {
    fileprivate static func * (date: Date, factor: Double) -> Date {
        Date(timeIntervalSince1970: date.timeIntervalSince1970 * factor)
    }
}
