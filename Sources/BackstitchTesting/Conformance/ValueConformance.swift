import BackstitchCore
import BackstitchSync
import Foundation

/// Values there and back.
struct ValueConformance {
    let probe: ConformanceProbe

    /// Values that come back as they were sent.
    private static let values: [(name: String, value: ServiceValue)] = [
        ("empty", .string("")), ("plain", .string("text")),
        ("composed", .string("\u{E9}")), ("decomposed", .string("e\u{301}")),
        ("beyond", .string("\u{1F468}\u{200D}\u{1F469} \u{202E}\u{FFFD}\u{10FFFF}")),
        ("controls", .string("\u{0}\u{1}\t\n\r\"\\/\u{7F}\u{2028}")),
        ("long", .string(String(repeating: "ä", count: 5_000))),
        ("zero", .int64(0)), ("least", .int64(.min)), ("most", .int64(.max)),
        ("odd", .int64(9_007_199_254_740_993)),
        ("whole", .double(1)), ("third", .double(1 / 3)), ("negative", .double(-0.5)),
        ("huge", .double(.greatestFiniteMagnitude)), ("tiny", .double(.leastNonzeroMagnitude)),
        ("epoch", .timestamp(milliseconds: 0)), ("before", .timestamp(milliseconds: -1)),
        ("year1", .timestamp(milliseconds: -62_135_596_800_000)),
        ("year9999", .timestamp(milliseconds: 253_402_300_799_999)),
        ("noBytes", .bytes(Data())), ("allBytes", .bytes(Data(0...255))),
        ("pole", .location(GeoLocation(latitude: 90, longitude: -180))),
        ("place", .location(GeoLocation(latitude: 48.137154, longitude: 11.576124))),
        ("other", .reference(ServiceReference(recordName: "nobody", action: .none))),
        ("child", .reference(ServiceReference(recordName: "nobody", action: .deleteSelf))),
        ("empties", .list([])), ("texts", .list([.string("a"), .string(""), .string("a")])),
        ("numbers", .list([.int64(.max), .int64(-1)])), ("single", .list([.int64(1)])),
        ("doubles", .list([.double(1), .double(0.1)])),
        ("times", .list([.timestamp(milliseconds: 1), .timestamp(milliseconds: -1)])),
        ("data", .list([.bytes(Data([0])), .bytes(Data())])),
        ("places", .list([.location(GeoLocation(latitude: -90, longitude: 180))])),
        (
            "others",
            .list([
                .reference(ServiceReference(recordName: "x", action: .none)),
                .reference(ServiceReference(recordName: "y", action: .none)),
            ])
        ),
    ]

    /// Values that no service takes.
    private static let refusedValues: [(name: String, value: ServiceValue)] = [
        ("NaN", .double(.nan)), ("infinity", .double(.infinity)),
        ("negative infinity", .double(-.infinity)), ("a list with NaN", .list([.double(.nan)])),
        ("a list of two types", .list([.int64(1), .string("a")])),
        ("a list of whole and other numbers", .list([.int64(1), .double(1)])),
        ("a list with null", .list([.null])), ("a list of lists", .list([.list([.int64(1)])])),
        ("a latitude of 91", .location(GeoLocation(latitude: 91, longitude: 0))),
        ("a longitude of -181", .location(GeoLocation(latitude: 0, longitude: -181))),
        ("no latitude", .location(GeoLocation(latitude: .nan, longitude: 0))),
        ("a list with no place", .list([.location(GeoLocation(latitude: 91, longitude: 0))])),
        ("a reference without name", .reference(ServiceReference(recordName: ""))),
        ("a reference to a reserved name", .reference(ServiceReference(recordName: "_a"))),
    ]

    func values() async throws(ServiceError) {
        var fields: NamedFields = [:]
        for (name, value) in Self.values { fields[name] = value }
        let tag = try await probe.create("a", fields)
        expectValues(try await probe.record("a"), "created")
        expectValues(try await probe.page(since: nil).records.first, "in the feed")
        _ = try await probe.create("b")
        let other = try probe.tag(
            of: try await probe.modify(
                .update(
                    recordName: "b", recordType: "T",
                    changeTag: try await probe.record("b")?.changeTag ?? "",
                    fields: fields)))
        expectValues(try await probe.record("b"), "updated")
        probe.expect(!other.isEmpty && other != tag, "each record has a tag of its own")
        let names = ["x", "X", "x1", "x_", String(repeating: "n", count: 255)]
        var numbered: NamedFields = [:]
        for (index, name) in names.enumerated() { numbered[name] = .int64(Int64(index)) }
        _ = try await probe.create("c", numbered)
        probe.expect(
            try await probe.record("c")?.fields == numbered,
            "names of fields are told apart by case, and may be long")
    }

    private func expectValues(_ record: ServiceRecord?, _ place: String) {
        guard let record else { return probe.expect(false, "a record with all values, \(place)") }
        for (name, value) in Self.values {
            probe.expect(
                record.fields[name].map { Self.isSame($0, value) } ?? false,
                "the value '\(name)' comes back as it was, \(place)")
        }
        probe.expect(record.fields.count == Self.values.count, "no field is added, \(place)")
    }

    /// Whether two values are the same to the byte: Swift takes é in one and in two scalars as equal.
    private static func isSame(_ left: ServiceValue, _ right: ServiceValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.list(let left, _), .list(let right, _)):
            left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
        default: left == right
        }
    }

    func refusedValues() async throws(ServiceError) {
        for (index, (name, value)) in Self.refusedValues.enumerated() {
            let operations: [RecordModification] = [
                .create(recordName: "bad", recordType: "T", fields: ["f": value]),
                .create(recordName: "good\(index)", recordType: "T", fields: [:]),
            ]
            let atomic = try await probe.modify(operations, atomic: true)
            probe.expect(atomic.first, failed: .invalidRequest, "\(name), in an atomic batch")
            probe.expect(atomic.last, failed: .batchFailed, "what is beside \(name)")
            let loose = try await probe.modify(operations)
            probe.expect(loose.first, failed: .invalidRequest, name)
            probe.expect(
                try await probe.record("good\(index)") != nil, "what is beside \(name) is written")
            let tag = try await probe.record("good\(index)")?.changeTag ?? ""
            probe.expect(
                try await probe.modify(
                    .update(
                        recordName: "good\(index)", recordType: "T", changeTag: tag,
                        fields: ["f": value])),
                failed: .invalidRequest, "an update with \(name)")
        }
        probe.expect(
            try await probe.record("bad") == nil, "a record with a bad value is not written")
    }
}
