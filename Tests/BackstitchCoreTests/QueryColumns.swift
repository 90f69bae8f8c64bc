import Foundation

@testable import BackstitchCore

/// An attribute of samples as Swift knows it: what its values are, when they are the same, and how
/// they are ordered. The model of sorts, ranges, groups and aggregates.
struct SampleColumn: Sendable {
    let name: String
    let type: AttributeType
    let value: @Sendable (Sample) -> RecordValue
    /// Swift's `==` of the attribute's type.
    let isSame: @Sendable (Sample, Sample) -> Bool
    /// How groups are ordered; of types with an order the order of sorts too.
    let order: @Sendable (Sample, Sample) -> Int
    /// What asks for the order by the key path; nil if that does not compile.
    private(set) var typed: Typed?

    struct Typed: Sendable {
        let sort: @Sendable (Query<Sample>) -> Query<Sample>
        let minimum: @Sendable () throws -> RecordQuery.Aggregate
        let maximum: @Sendable () throws -> RecordQuery.Aggregate
    }

    /// Whether sorts, ranges, minima and maxima are answered.
    var isOrdered: Bool { type.element == nil && type != .location }
    var isNumber: Bool {
        [.int16, .int32, .int64, .float, .double, .decimal].contains(type)
    }

    init<Attribute: AttributeValue & Equatable, Key: Comparable & Sendable>(
        unordered name: String, _ keyPath: any KeyPath<Sample, Attribute> & Sendable,
        _ key: @escaping @Sendable (Attribute) -> Key?
    ) {
        self.name = name
        type = Attribute._attributeType
        value = { $0[keyPath: keyPath]._recordValue }
        isSame = { $0[keyPath: keyPath] == $1[keyPath: keyPath] }
        order = { left, right in
            QueryDifferentialTests.order(key(left[keyPath: keyPath]), key(right[keyPath: keyPath]))
        }
    }

    init<Attribute: OrderedAttributeValue & Equatable, Key: Comparable & Sendable>(
        _ name: String, _ keyPath: any KeyPath<Sample, Attribute> & Sendable,
        _ key: @escaping @Sendable (Attribute) -> Key?
    ) {
        self.init(unordered: name, keyPath, key)
        typed = Typed(
            sort: { $0.sorted(by: keyPath) },
            minimum: { try QueryAggregate<Sample, Attribute._Bound?>.minimum(keyPath).lowered() },
            maximum: { try QueryAggregate<Sample, Attribute._Bound?>.maximum(keyPath).lowered() })
    }

    typealias Text = QueryDifferentialTests.Text
    typealias Bytes = QueryDifferentialTests.Bytes

    /// A list of keys, in the order of its elements.
    struct Elements<Key: Comparable & Sendable>: Comparable {
        var keys: [Key]
        static func < (left: Self, right: Self) -> Bool {
            left.keys.lexicographicallyPrecedes(right.keys)
        }
    }

    static func list<Element: Sendable, Key: Comparable & Sendable>(
        _ key: @escaping @Sendable (Element) -> Key
    ) -> @Sendable ([Element]) -> Elements<Key>? {
        { Elements(keys: $0.map(key)) }
    }

    static func place(_ place: GeoLocation) -> Elements<Double> {
        Elements(keys: [place.latitude, place.longitude])
    }

    static let all: [SampleColumn] = [
        Self("name", \.name) { Text($0) },
        Self("nick", \.nick) { $0.map(Text.init) },
        Self("age", \.age) { $0 },
        Self("grade", \.grade) { $0 },
        Self("size", \.size) { $0 },
        Self("score", \.score) { $0 },
        Self("ratio", \.ratio) { $0 },
        Self("price", \.price) { $0 },
        Self("bonus", \.bonus) { $0 },
        Self("born", \.born) { $0 },
        Self("seen", \.seen) { $0 },
        Self("isOn", \.isOn) { $0 ? 1 : 0 },
        Self("flag", \.flag) { $0.map { $0 ? 1 : 0 } },
        Self(unordered: "blob", \.blob) { $0.map(Bytes.init) },
        Self("token", \.token) { $0 },
        Self("link", \.link) { $0.map { Text($0.absoluteString) } },
        Self("boss", \.boss) { $0 },
        Self("level", \.level) { $0 },
        Self(unordered: "labels", \.labels, list { Text($0) }),
        Self(unordered: "nums", \.nums, list { $0 }),
        Self(unordered: "shorts", \.shorts) { $0.map { Elements(keys: $0) } },
        Self(unordered: "words", \.words, list { $0 }),
        Self(unordered: "marks", \.marks, list { $0 ? 1 : 0 }),
        Self(unordered: "ratios", \.ratios, list { $0 }),
        Self(unordered: "scores", \.scores, list { $0 }),
        Self(unordered: "prices", \.prices, list { $0 }),
        Self(unordered: "days", \.days, list { $0 }),
        Self(unordered: "blobs", \.blobs, list { Bytes($0) }),
        Self(unordered: "tokens", \.tokens, list { $0 }),
        Self(unordered: "links", \.links, list { Text($0.absoluteString) }),
        Self(unordered: "spots", \.spots, list { place($0) }),
        Self(unordered: "place", \.place) { $0.map(place) },
        Self(unordered: "home", \.home) { place($0) },
    ]
}

extension [Sample] {
    /// The samples in groups that are the same in some columns, in the order of these.
    func grouped(by columns: [SampleColumn]) -> [[Sample]] {
        var groups: [[Sample]] = []
        for sample in self {
            let known = groups.firstIndex { group in
                columns.allSatisfy { $0.isSame(group[0], sample) }
            }
            if let known { groups[known].append(sample) } else { groups.append([sample]) }
        }
        return groups.sorted { left, right in
            for column in columns {
                let order = column.order(left[0], right[0])
                if order != 0 { return order < 0 }
            }
            return false
        }
    }
}
