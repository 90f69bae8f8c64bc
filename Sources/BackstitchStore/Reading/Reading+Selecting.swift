public import BackstitchCore
import BackstitchLog

extension RecordReading where Self: ~Copyable {
    /// One attribute of the records that a query matches, in its order; nothing else is decoded.
    ///
    /// - Throws: as for several attributes.
    public func select<Model: Entity, Attribute: AttributeValue>(
        _ query: Query<Model>, _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) throws -> [Attribute] {
        try reader.select(query, types.binding(of: Model.self), keyPath)
    }

    /// Some attributes of the records that a query matches, in its order; nothing else is decoded.
    ///
    /// ```swift
    /// let names = try transaction.select(query, \.name, \.age)
    /// ```
    ///
    /// - Throws: `invalidQuery` if the query can't be answered or a key path is neither a stored
    ///   attribute nor `id`; `unreadable` if a value does not fit its type.
    public func select<Model: Entity, each Attribute: AttributeValue>(
        _ query: Query<Model>, _ keyPaths: repeat any KeyPath<Model, each Attribute> & Sendable
    ) throws -> [(repeat each Attribute)] {
        let binding = try types.binding(of: Model.self)
        let columns = (repeat try Column(each keyPaths, binding))
        var rows: [(repeat each Attribute)] = []
        try unsafe QueryExecutor.run(reader.plan(query, binding), on: reader) { keyBytes, body in
            guard let fields = unsafe PackedFields(body) else {
                throw StoreError(.damaged, "A row of \(binding.name) can't be read. Run rebuild.")
            }
            unsafe rows.append((repeat try (each columns).value(keyBytes, fields, reader)))
            return true
        }
        return rows
    }

    /// Some attributes of the records that a query by names matches, in its order.
    ///
    /// - Returns: for each record the values in the order of the attributes, null for none.
    /// - Throws: `unknownEntity`; `invalidQuery` if the query can't be answered.
    public func select(_ query: RecordQuery, _ attributes: [String]) throws -> [[RecordValue]] {
        try reader.select(query, attributes)
    }

    /// The records that a query by names matches, in its order.
    ///
    /// - Throws: `unknownEntity`; `invalidQuery` if the query can't be answered.
    public func fetch(_ query: RecordQuery) throws -> [DynamicRecord] {
        try reader.fetch(query)
    }

    /// The number of records that a query by names matches.
    ///
    /// - Throws: `unknownEntity`; `invalidQuery` if the query can't be answered.
    public func count(_ query: RecordQuery) throws -> Int {
        try reader.count(query)
    }
}

/// What the calls above do.
extension TableReader {
    fileprivate func select<Model: Entity, Attribute: AttributeValue>(
        _ query: Query<Model>, _ binding: TypeBinding,
        _ keyPath: any KeyPath<Model, Attribute> & Sendable
    ) throws -> [Attribute] {
        let column = try Column(keyPath, binding)
        var values: [Attribute] = []
        try unsafe QueryExecutor.run(plan(query, binding), on: self) { keyBytes, body in
            guard let fields = unsafe PackedFields(body) else { throw binding.damagedRow }
            unsafe values.append(try column.value(keyBytes, fields, self))
            return true
        }
        return values
    }

    fileprivate func select(
        _ query: RecordQuery, _ attributes: [String]
    ) throws -> [[RecordValue]] {
        let entity = catalog.binding(of: try table(named: query.entity))
        let bindings = try attributes.map { try entity.attribute(named: $0) }
        var rows: [[RecordValue]] = []
        let plan = try QueryPlan(query, in: entity, on: self)
        try unsafe QueryExecutor.run(plan, on: self) { _, body in
            guard let fields = unsafe PackedFields(body) else {
                throw StoreError(.damaged, "A row of \(entity.name) can't be read. Run rebuild.")
            }
            rows.append(try bindings.map { try $0.value(of: fields) })
            return true
        }
        return rows
    }

    fileprivate func fetch(_ query: RecordQuery) throws -> [DynamicRecord] {
        let table = try table(named: query.entity)
        var records: [DynamicRecord] = []
        let plan = try QueryPlan(query, in: catalog.binding(of: table), on: self)
        try unsafe QueryExecutor.visitKeys(plan, on: self) { keyBytes in
            unsafe records.append(try dynamicRecord(RecordKey.stored(keyBytes), in: table))
            return true
        }
        return records
    }

    fileprivate func count(_ query: RecordQuery) throws -> Int {
        let table = try table(named: query.entity)
        let plan = try QueryPlan(
            query, in: catalog.binding(of: table), needsRows: false, on: self)
        return try QueryExecutor.count(plan, on: self)
    }
}

/// How one attribute is read from the rows of one store.
private struct Column<Model: Entity, Attribute: AttributeValue> {
    private let keyPath: KeyPath<Model, Attribute>
    private let binding: TypeBinding
    /// The position of the attribute in the declaration; nil for `id`.
    private let index: Int?

    init(_ keyPath: any KeyPath<Model, Attribute> & Sendable, _ binding: TypeBinding) throws {
        self.keyPath = keyPath
        self.binding = binding
        index = try Query<Model>.position(of: keyPath)
    }

    func value(
        _ keyBytes: UnsafeRawBufferPointer, _ fields: PackedFields, _ reader: TableReader
    ) throws -> Attribute {
        let key = try unsafe index == nil ? RecordKey.stored(keyBytes) : nil
        if let key, let id = EntityID<Model>(key: key) as? Attribute { return id }
        guard let index else { preconditionFailure("A column without an attribute is the id.") }
        let attribute = binding.schema.attributes[index]
        let field = try fields.value(of: binding.layout.fields[index])
        if field == nil, !attribute.hasDefault { return try Attribute._absent(at: index) }
        guard let field, !attribute.isExternal else {
            // Only the type itself knows its default, and how its bytes are read.
            let id = unsafe EntityID<Model>(key: try RecordKey.stored(keyBytes))
            return try unsafe binding.decode(fields.bytes, id)[keyPath: keyPath]
        }
        do {
            return try Attribute(_field: field)
        } catch let error as FieldError {
            throw StoreError(
                .unreadable,
                unsafe "\(binding.name).\(binding.schema.attributes[index].name) of the record "
                    + "\(try RecordKey.stored(keyBytes)) can't be read: \(error).")
        }
    }
}
