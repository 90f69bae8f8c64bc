import BackstitchCore
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct NamedFieldsTests {
    /// A value of each kind, with all that it may have.
    private static let values: [ServiceValue] = [
        .null, .string(""), .string("é\u{0}\u{1F600}"), .int64(.min), .int64(.max), .double(-0.0),
        .double(.infinity), .timestamp(milliseconds: -1), .bytes(Data([0, 255])), .bytes(Data()),
        .reference(ServiceReference(recordName: "a", action: .deleteSelf)),
        .reference(ServiceReference(recordName: "", action: .other("MORE"), zone: ZoneID("z"))),
        .reference(
            ServiceReference(
                recordName: "b", action: .unspecified, zone: ZoneID("z", ownerName: "o"))),
        .asset(ServiceAsset()),
        .asset(
            ServiceAsset(
                fileChecksum: "c", size: .max, referenceChecksum: "r", wrappingKey: "w",
                receipt: "", downloadURL: "u")),
        .location(GeoLocation(latitude: 90, longitude: -180)), .location(place),
        .list([], of: nil), .list([], of: .asset), .list([.int64(1), .int64(2)]),
        .list([.string("a"), .string("")]), .list([.location(place)]),
        .unknown(UnknownValue(typeName: "DURATION", json: "[1]")),
    ]

    private static var place: ServiceLocation {
        var place = ServiceLocation(latitude: 1.5, longitude: 2.5)
        (place.horizontalAccuracy, place.altitude, place.course) = (0.5, -3, 359)
        place.timestamp = 7
        return place
    }

    @Test(arguments: values) func `a value comes out as it went in`(value: ServiceValue) {
        let fields: NamedFields = ["b": value, "a": .int64(1), "c": .string("x")]
        #expect(fields["b"] == value && fields["a"] == .int64(1) && fields["c"] == .string("x"))
        #expect(fields.keys == ["a", "b", "c"] && fields.values[1] == value)
        #expect(NamedFields(fields.map { $0 }) == fields)
    }

    @Test func `fields are equal by their values, in whatever order they came`() {
        let one: NamedFields = ["a": .double(0.0), "b": .string("x")]
        let other: NamedFields = ["b": .string("x"), "a": .double(-0.0)]
        #expect(one == other && one.hashValue == other.hashValue)
        #expect(one != ["a": .double(0.0)] && one != ["a": .double(0.0), "c": .string("x")])
        let isNumber: NamedFields = ["a": .double(.nan)]
        #expect(isNumber != isNumber)
        #expect(["a": .null] as NamedFields != [:])
    }

    @Test func `names of other bytes are the same if their text is`() {
        let fields: NamedFields = ["\u{E9}": .int64(1), "a": .int64(2)]
        #expect(fields["e\u{301}"] == .int64(1))
        var changed = fields
        changed["e\u{301}"] = .int64(3)
        #expect(changed.count == 2 && changed["\u{E9}"] == .int64(3))
        #expect(fields == ["e\u{301}": .int64(1), "a": .int64(2)])
        #expect(
            NamedFields([(key: "\u{E9}", value: .null), (key: "e\u{301}", value: .null)]).count == 1
        )
    }

    @Test func `fields change as a dictionary does`() {
        var generator = SeededGenerator(seed: 5)
        let names = ["", "a", "ab", "b", "longer name", "ä", "\u{1F600}"]
        var fields = NamedFields()
        var model: [String: ServiceValue] = [:]
        for step in 0..<3_000 {
            let name = names[Int.random(in: names.indices, using: &generator)]
            let number = Int.random(in: 0..<10, using: &generator)
            if number < 3 {
                #expect(fields.removeValue(forKey: name) == model.removeValue(forKey: name))
            } else {
                let value = ServiceValue.string(String(repeating: "x", count: number * step % 300))
                #expect(
                    fields.updateValue(value, forKey: name)
                        == model.updateValue(value, forKey: name))
            }
            #expect(fields.count == model.count && fields.isEmpty == model.isEmpty)
            #expect(fields.keys == model.keys.sorted { Array($0.utf8).precedes($1.utf8) })
            for (name, value) in fields { #expect(model[name] == value) }
            let expected = model.filter { $0.key > "a" }
            #expect(fields.filter { $0.key > "a" }.count == expected.count)
        }
    }

    @Test func `of several fields with one name the last one counts`() {
        let fields = NamedFields([
            (key: "b", value: .int64(1)), (key: "a", value: .null), (key: "b", value: .int64(2)),
        ])
        #expect(fields == ["a": .null, "b": .int64(2)])
        #expect(fields.merging(["b": .int64(3), "c": .null]).values == [.null, .int64(3), .null])
        #expect(fields.mapValues { _ in .int64(0) } == ["a": .int64(0), "b": .int64(0)])
        #expect("\(["a": .int64(1)] as NamedFields)" == #"["a": int64(1)]"#)
    }
}

extension [UInt8] {
    fileprivate func precedes(_ other: some Sequence<UInt8>) -> Bool {
        lexicographicallyPrecedes(other)
    }
}
