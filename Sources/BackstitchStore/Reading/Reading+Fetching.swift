public import BackstitchCore
public import BackstitchLog
import LMDB
import Threading

extension RecordReading where Self: ~Copyable {
    /// The records that a query matches, in its order; a write sees its own changes.
    ///
    /// Records that the service delivered and that don't fit the type are left out.
    /// - Throws: `invalidQuery` if the query can't be answered; `unknownEntity`.
    @inlinable
    public func fetch<Model: Entity>(_ query: Query<Model>) throws -> [Model] {
        try reader.fetch(query, types.binding(of: Model.self))
    }

    /// The first record that a query matches, or nil if none does.
    ///
    /// - Throws: as ``fetch(_:)``.
    @inlinable
    public func first<Model: Entity>(_ query: Query<Model>) throws -> Model? {
        try fetch(query.onlyFirst).first
    }

    /// Whether any record matches a query; stops at the first one.
    ///
    /// - Throws: as ``fetch(_:)``.
    public func exists<Model: Entity>(_ query: Query<Model>) throws -> Bool {
        try count(query.onlyFirst) > 0
    }

    /// The records that refer to one record.
    @inlinable
    public func fetch<Model: Entity>(_ relationship: ToMany<Model>) throws -> [Model] {
        try fetch(relationship.query)
    }

    /// All records of an entity, in the order of their ids.
    @inlinable
    public func fetch<Model: Entity>(_ type: Model.Type) throws -> [Model] {
        try fetch(Query<Model>())
    }

    /// The number of records that a query matches.
    public func count<Model: Entity>(_ query: Query<Model>) throws -> Int {
        try reader.count(query, types.binding(of: Model.self))
    }

    /// The number of records of an entity. Reads them all, some 50 ns each.
    public func count<Model: Entity>(_ type: Model.Type) throws -> Int {
        try count(Query<Model>())
    }

    /// The number of records that refer to one record.
    public func count<Model: Entity>(_ relationship: ToMany<Model>) throws -> Int {
        try count(relationship.query)
    }

    /// How a query would be answered: by which index, with which conditions left, sorted how.
    ///
    /// - Parameter running: Whether to run the query, to tell what it reads.
    public func explain<Model: Entity>(
        _ query: Query<Model>, running: Bool = false
    ) throws -> RecordQuery.Explanation {
        let plan = try reader.plan(query, types.binding(of: Model.self))
        return try running ? plan.explanation(runningOn: reader) : plan.explanation
    }

    /// How a query by names would be answered.
    ///
    /// - Parameter running: Whether to run the query, to tell what it reads.
    public func explain(_ query: RecordQuery, running: Bool = false) throws
        -> RecordQuery.Explanation
    {
        let plan = try QueryPlan(
            query, in: reader.catalog.binding(of: reader.table(named: query.entity)), on: reader)
        return try running ? plan.explanation(runningOn: reader) : plan.explanation
    }
}

/// What is generic is inlined into the user's code, as in ``TypeBinding``.
extension TableReader {
    /// The plan of a query with all that can be told about it.
    func plan<Model: Entity>(
        _ query: Query<Model>, _ binding: TypeBinding, needsRows: Bool = true
    ) throws -> QueryPlan {
        try QueryPlan(
            query.lowered(), in: entityBinding(binding.number), needsRows: needsRows, on: self)
    }

    /// The same plan, to be run: that of a lookup is made without planning.
    @usableFromInline
    func quickPlan<Model: Entity>(
        _ query: Query<Model>, _ binding: TypeBinding, needsRows: Bool = true
    ) throws -> QueryPlan {
        // A plan of a lookup does not tell what it asks for.
        if footprint == nil, let lookup = binding.forms.withLock({ query.pointLookup(&$0) }),
            let plan = QueryPlan(
                lookup, of: binding.layout.fields[lookup.position], limit: query.limitCount,
                offset: query.offsetCount, in: try entityBinding(binding.number))
        {
            return plan
        }
        return try plan(query, binding, needsRows: needsRows)
    }

    @inlinable
    func fetch<Model: Entity>(_ query: Query<Model>, _ binding: TypeBinding) throws -> [Model] {
        var found: [Model] = []
        func take(_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws {
            let id = unsafe EntityID<Model>(key: try RecordKey.stored(key))
            if let model = try unsafe binding.decodeIfReadable(body, id, self) {
                found.append(model)
            }
        }
        if let test = query.pointTest,
            try unsafe binding.visit(
                test, on: self, limit: query.limitCount, offset: query.offsetCount,
                learn: { Model.position(at: $0) }, unsafe take)
        {
            return found
        }
        let plan = try quickPlan(query, binding)
        if let found: [Model] = try FetchedParts(plan, binding, self)?.fetch(binding) {
            return found
        }
        try unsafe visit(plan, take)
        return found
    }

    /// Visits the records of an answer, in order: stored keys and packed fields.
    @usableFromInline
    func visit(
        _ plan: QueryPlan,
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try unsafe QueryExecutor.run(plan, on: self) { key, body in
            try unsafe visit(key, body)
            return true
        }
    }

    func count<Model: Entity>(
        _ query: Query<Model>, _ binding: TypeBinding
    ) throws -> Int {
        try QueryExecutor.count(quickPlan(query, binding, needsRows: false), on: self)
    }
}
