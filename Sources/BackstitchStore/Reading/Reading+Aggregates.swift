public import BackstitchCore
import BackstitchLog

extension RecordReading where Self: ~Copyable {
    /// Calculates aggregates over the records that a query matches, in one pass.
    ///
    /// ```swift
    /// let (count, total) = try transaction.aggregate(query, .count(), .sum(\.balance))
    /// ```
    ///
    /// Rows are read in place and not decoded. Counts, minima and maxima that an index answers read
    /// no rows.
    /// - Throws: `invalidQuery` if the query can't be answered, a sum leaves its type, or a minimum
    ///   or maximum is asked of lists or places, which have no order.
    public func aggregate<Model: Entity, each Result: Sendable>(
        _ query: Query<Model>, _ aggregates: repeat QueryAggregate<Model, each Result>
    ) throws -> (repeat each Result) {
        var names: [RecordQuery.Aggregate] = []
        for aggregate in repeat each aggregates { names.append(try aggregate.lowered()) }
        let groups = try reader.groups(
            of: query.lowered(), by: [], names, types.binding(of: Model.self).number)
        var values = (groups.first?.values ?? []).makeIterator()
        return (repeat try (each aggregates).convert(values.next() ?? .null))
    }

    /// Calculates aggregates over the records that a query matches, in groups of records with the
    /// same values; nil is a value too.
    ///
    /// ```swift
    /// let groups = try transaction.groups(
    ///     query, by: GroupKeys(\.department), .count(), .average(\.age))
    /// ```
    ///
    /// Groups are in the order of their values: lists element by element, places from south to north.
    /// All of them are held in memory.
    /// - Throws: `invalidQuery` if the query can't be answered or a sum leaves its type.
    public func groups<Model: Entity, each Key: AttributeValue, each Result: Sendable>(
        _ query: Query<Model>, by keys: GroupKeys<Model, repeat each Key>,
        _ aggregates: repeat QueryAggregate<Model, each Result>
    ) throws -> [(key: (repeat each Key), values: (repeat each Result))] {
        var names: [RecordQuery.Aggregate] = []
        for aggregate in repeat each aggregates { names.append(try aggregate.lowered()) }
        let groups = try reader.groups(
            of: query.lowered(), by: keys.names(), names, types.binding(of: Model.self).number)
        return try groups.map { group in
            var keys = group.keys.makeIterator()
            var values = group.values.makeIterator()
            let key = (repeat try (each Key).init(value: keys.next() ?? .null))
            let results = (repeat try (each aggregates).convert(values.next() ?? .null))
            return (key: key, values: results)
        }
    }

    /// Calculates aggregates over the records that a query by names matches, in groups.
    ///
    /// - Parameter attributes: The attributes to group by. Without any there is one group, even if
    ///   no record matches.
    /// - Returns: the groups in the order of their values.
    /// - Throws: `unknownEntity`; `invalidQuery` if it can't be answered or a sum leaves its type.
    public func groups(
        _ query: RecordQuery, by attributes: [String] = [], _ aggregates: [RecordQuery.Aggregate]
    ) throws -> [RecordQuery.Group] {
        try reader.groups(
            of: query, by: attributes, aggregates, reader.table(named: query.entity).number)
    }

    /// The distinct values of an attribute among the records that a query matches, in their order.
    ///
    /// - Throws: `invalidQuery` if the query can't be answered.
    public func distinct<Model: Entity, Attribute: AttributeValue>(
        _ query: Query<Model>, _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) throws -> [Attribute] {
        try reader.groups(
            of: query.lowered(), by: GroupKeys<Model, Attribute>(keyPath).names(), [],
            types.binding(of: Model.self).number
        ).map { try Attribute(value: $0.keys.first ?? .null) }
    }

    /// The distinct values of attributes among the records that a query matches, in their order.
    /// Attributes of any type are allowed, as in ``GroupKeys``.
    ///
    /// - Throws: `invalidQuery` if the query can't be answered.
    public func distinct<Model: Entity, each Attribute: AttributeValue>(
        _ query: Query<Model>, _ keyPaths: repeat any KeyPath<Model, each Attribute> & Sendable
    ) throws -> [(repeat each Attribute)] {
        let keys = GroupKeys<Model, repeat each Attribute>(repeat each keyPaths)
        let groups = try reader.groups(
            of: query.lowered(), by: keys.names(), [], types.binding(of: Model.self).number)
        return try groups.map { group in
            var keys = group.keys.makeIterator()
            return (repeat try (each Attribute).init(value: keys.next() ?? .null))
        }
    }
}

extension TableReader {
    func groups(
        of query: RecordQuery, by attributes: [String], _ aggregates: [RecordQuery.Aggregate],
        _ number: EntityNumber
    ) throws -> [RecordQuery.Group] {
        try QueryExecutor.groups(
            of: query, by: attributes, aggregates, in: entityBinding(number), on: self)
    }
}
