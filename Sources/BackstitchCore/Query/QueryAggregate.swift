/// A count, sum, mean, minimum or maximum over the records that a query matches.
///
/// Records whose attribute is nil are skipped. A sum of integers that overflows 64 bits is an error,
/// and so is a sum of decimals that needs more than 38 digits: only the mean is rounded. A quotient such as a
/// third has that many digits by itself; round it before it is saved.
public struct QueryAggregate<Model: Entity, Result: Sendable>: Sendable {
    private let function: RecordQuery.Aggregate.Function
    private let keyPath: (any PartialKeyPath<Model> & Sendable)?
    package let convert: @Sendable (RecordValue) throws -> Result

    private init(
        _ function: RecordQuery.Aggregate.Function,
        _ keyPath: (any PartialKeyPath<Model> & Sendable)?,
        _ convert: @escaping @Sendable (RecordValue) throws -> Result
    ) {
        self.function = function
        self.keyPath = keyPath
        self.convert = convert
    }

    /// The same by names.
    ///
    /// - Throws: ``QueryError`` for a key path that is no stored attribute.
    package func lowered() throws -> RecordQuery.Aggregate {
        RecordQuery.Aggregate(
            function, try keyPath.map { try Query<Model>.storedAttribute(at: $0) })
    }
}

extension QueryAggregate where Result == Int {
    /// The number of records.
    public static func count() -> Self { Self(.count, nil) { try Int(value: $0) } }

    /// The number of records that have a value of an attribute.
    public static func count<Attribute: AttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) -> Self {
        Self(.count, keyPath) { try Int(value: $0) }
    }
}

extension QueryAggregate {
    /// The sum of an attribute, or zero if no record has a value.
    public static func sum<Number: SummableValue>(
        _ keyPath: any KeyPath<Model, Number> & Sendable
    ) -> Self where Result == Number._Sum {
        Self(.sum, keyPath) { try Result(value: $0) }
    }

    /// The mean of an attribute, or nil if no record has a value.
    public static func average<Number: SummableValue>(
        _ keyPath: any KeyPath<Model, Number> & Sendable
    ) -> Self where Result == Number._Average? {
        Self(.average, keyPath) { try Result(value: $0) }
    }

    /// The value of an attribute that sorts first, or nil if no record has a value.
    public static func minimum<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) -> Self where Result == Attribute._Bound? {
        Self(.minimum, keyPath) { try Result(value: $0) }
    }

    /// The value of an attribute that sorts last, or nil if no record has a value.
    public static func maximum<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) -> Self where Result == Attribute._Bound? {
        Self(.maximum, keyPath) { try Result(value: $0) }
    }
}

/// The attributes that the records of a group have in common: of any type, lists, ``GeoLocation`` and
/// ``Asset`` included. Values are the same if `==` of a predicate says so, and nil is a value too.
public struct GroupKeys<Model: Entity, each Key: AttributeValue>: Sendable {
    private let keys: [@Sendable () throws -> String]

    /// Groups by one or several attributes.
    public init(_ keyPaths: repeat any KeyPath<Model, each Key> & Sendable) {
        var all: [@Sendable () throws -> String] = []
        for keyPath in repeat each keyPaths {
            all.append { try Query<Model>.storedAttribute(at: keyPath) }
        }
        keys = all
    }

    /// Groups by something that is derived from an attribute.
    init(name: @escaping @Sendable () throws -> String) { keys = [name] }

    /// The names of the attributes.
    ///
    /// - Throws: ``QueryError`` for a key path that is no stored attribute.
    package func names() throws -> [String] {
        try keys.map { try $0() }
    }
}
