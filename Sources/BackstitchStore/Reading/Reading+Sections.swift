public import BackstitchCore
import BackstitchLog
public import Foundation

/// The records of an answer that have a key in common.
public struct QuerySection<Key: Sendable, Model: Entity>: Sendable {
    /// What the records have in common, or the beginning of the period that they are in.
    public let key: Key
    /// The records, in the order of the query.
    public let records: [Model]
    /// The number of the records.
    public var count: Int { records.count }
}

extension RecordReading where Self: ~Copyable {
    /// Calculates aggregates over the records that a query matches, by the day, week, month or year of a date.
    ///
    /// ```swift
    /// let months = try transaction.groups(query, by: .month, of: \.created, .count())
    /// ```
    ///
    /// - Returns: the groups in the order of their beginnings; records without a date come first. Periods without records
    ///   are left out.
    /// - Throws: as groups by attributes.
    public func groups<Model: Entity, Key: DateAttributeValue, each Result: Sendable>(
        _ query: Query<Model>, by period: DatePeriod,
        of keyPath: any KeyPath<Model, Key> & Sendable,
        _ aggregates: repeat QueryAggregate<Model, each Result>
    ) throws -> [(key: Key, values: (repeat each Result))] {
        var names: [RecordQuery.Aggregate] = []
        for aggregate in repeat each aggregates { names.append(try aggregate.lowered()) }
        let name = period.name(of: try Query<Model>.storedAttribute(at: keyPath))
        let groups = try reader.groups(
            of: query.lowered(), by: [name], names, types.binding(of: Model.self).number)
        return try groups.map { group in
            var values = group.values.makeIterator()
            let results = (repeat try (each aggregates).convert(values.next() ?? .null))
            return (key: try Key(value: group.keys.first ?? .null), values: results)
        }
    }

    /// The records that a query matches, in sections of those with the same value of an attribute.
    ///
    /// Sections are in the order of their keys, nil first, or the other way round; the records of each are in
    /// the order of the query. A limit or offset of the query counts records in that order. All records are held in memory.
    ///
    /// ```swift
    /// for section in try transaction.sections(Query<Person>().sorted(by: \.name), by: \.city) {
    ///     print(section.key ?? "nowhere", section.count)
    /// }
    /// ```
    ///
    /// - Throws: `invalidQuery` if the query can't be answered.
    public func sections<Model: Entity, Key: OrderedAttributeValue & Sendable>(
        _ query: Query<Model>, by keyPath: any KeyPath<Model, Key> & Sendable,
        order: SortOrder = .forward
    ) throws -> [QuerySection<Key, Model>] {
        let name = try Query<Model>.storedAttribute(at: keyPath)
        let records = try fetch(query.sortedFirst(byName: name, order))
        return try QuerySection.sections(of: records) { $0[keyPath: keyPath]._recordValue }
    }

    /// The records that a query matches, in sections by the day, week, month or year of a date.
    ///
    /// Everything is as in sections of an attribute; the key is the beginning of the period.
    public func sections<Model: Entity, Key: DateAttributeValue & Sendable>(
        _ query: Query<Model>, by period: DatePeriod,
        of keyPath: any KeyPath<Model, Key> & Sendable, order: SortOrder = .forward
    ) throws -> [QuerySection<Key, Model>] {
        let name = period.name(of: try Query<Model>.storedAttribute(at: keyPath))
        let records = try fetch(query.sortedFirst(byName: name, order))
        return try QuerySection.sections(of: records) {
            period.apply($0[keyPath: keyPath]._recordValue)
        }
    }
}

extension QuerySection where Key: AttributeValue {
    /// Puts records into sections whose keys come one after another.
    fileprivate static func sections(
        of records: [Model], _ key: (Model) -> RecordValue
    ) throws -> [QuerySection] {
        var sections: [QuerySection] = []
        var first = 0
        var keys: [RecordValue] = []
        keys.reserveCapacity(records.count)
        for record in records { keys.append(key(record)) }
        for index in records.indices
        where index + 1 == records.count || keys[index + 1] != keys[index] {
            sections.append(
                QuerySection(
                    key: try Key(value: keys[index]), records: Array(records[first...index])))
            first = index + 1
        }
        return sections
    }
}
