public import BackstitchCore
import BackstitchLog

extension Query {
    /// Records of an entity that were read together with those that refer to them, each once.
    public struct Included: Sendable {
        private var found: [RecordKey: Model] = [:]

        init() {}

        /// The number of records.
        public var count: Int { found.count }

        /// The record that a reference leads to; nil if either does not exist.
        public subscript(_ id: EntityID<Model>?) -> Model? { id.flatMap { found[$0.key] } }

        /// Reads the record that a reference leads to, unless it is there.
        mutating func add(
            _ reference: RecordValue, _ missing: inout Set<RecordKey>, _ reader: TableReader,
            _ binding: TypeBinding
        ) throws {
            guard case .reference(let key) = reference, found[key] == nil, !missing.contains(key)
            else {
                return
            }
            let isFound = try unsafe key.bytes.withUnsafeBytes { bytes in
                try unsafe reader.withRow(of: binding.number, key: bytes) { body in
                    found[key] = try unsafe binding.decodeIfReadable(
                        body, EntityID<Model>(key: key), reader)
                    return found[key] != nil
                }
            }
            if isFound != true { missing.insert(key) }
        }
    }

    /// Records that refer to others, by those others; read together with them.
    public struct Referrers<Owner: Entity>: Sendable {
        private var found: [RecordKey: [Model]] = [:]

        /// The records that refer to each of some.
        init(_ owners: [EntityID<Owner>], _ referrers: (EntityID<Owner>) throws -> [Model]) rethrows
        {
            for owner in owners {
                let records = try referrers(owner)
                if !records.isEmpty { found[owner.key] = records }
            }
        }

        /// The records that refer to one, in the order of their ids.
        public subscript(_ id: EntityID<Owner>) -> [Model] { found[id.key] ?? [] }
    }
}

extension RecordReading where Self: ~Copyable {
    /// The records that a query matches, with those that a reference of theirs leads to.
    ///
    /// ```swift
    /// let (staff, departments) = try transaction.fetch(query, including: \.department)
    /// let name = departments[staff[0].department]?.name
    /// ```
    ///
    /// Each is read once. One that does not exist, or can't be read as its type, is left out.
    /// - Throws: as ``fetch(_:)``.
    public func fetch<Model: Entity, Reference: RecordReference>(
        _ query: Query<Model>, including keyPath: any KeyPath<Model, Reference> & Sendable
    ) throws -> (records: [Model], included: Query<Reference.Referenced>.Included) {
        let records = try fetch(query)
        return (records, try Query.included(keyPath, of: records, reader, types))
    }

    /// The records that a query matches, with those that several references of theirs lead to.
    ///
    /// Everything is as for one reference; what is included is in the order of the key paths.
    public func fetch<Model: Entity, each Reference: RecordReference>(
        _ query: Query<Model>,
        including keyPaths: repeat any KeyPath<Model, each Reference> & Sendable
    ) throws -> (
        records: [Model], included: (repeat Query<(each Reference).Referenced>.Included)
    ) {
        let records = try fetch(query)
        return (records, (repeat try Query.included(each keyPaths, of: records, reader, types)))
    }

    /// The records that a query matches, with those that refer to them by an attribute, all of one moment.
    ///
    /// ```swift
    /// let (departments, staff) = try transaction.fetch(query, includingAll: \Employee.department)
    /// let members = staff[departments[0].id]
    /// ```
    ///
    /// - Throws: as ``fetch(_:)``.
    public func fetch<Model: Entity, Target: Entity, Reference: RecordReference>(
        _ query: Query<Model>,
        includingAll inverse: any KeyPath<Target, Reference> & Sendable
    ) throws -> (records: [Model], included: Query<Target>.Referrers<Model>)
    where Reference.Referenced == Model {
        let records = try fetch(query)
        let ids = records.map(\.id)
        return (
            records, try .init(ids) { try fetch(ToMany(owner: $0, inverse: inverse)) }
        )
    }

    /// The records that a query by names matches, with those that references of theirs lead to.
    ///
    /// - Parameter references: The attributes to follow.
    /// - Returns: also the related records, each once, by their ids.
    /// - Throws: as the query without them; `invalidQuery` for an attribute that is no reference.
    public func fetch(
        _ query: RecordQuery, including references: [String]
    ) throws -> (records: [DynamicRecord], included: [RecordID: DynamicRecord]) {
        let records = try fetch(query)
        return (
            records,
            try ReferredRecords(reader: reader).all(of: references, in: records, query.entity)
        )
    }
}

extension Query {
    /// The records that a reference of some leads to.
    fileprivate static func included<Reference: RecordReference>(
        _ keyPath: any KeyPath<Model, Reference> & Sendable, of records: [Model],
        _ reader: TableReader, _ types: TypeTable
    ) throws -> Query<Reference.Referenced>.Included {
        let binding = try types.binding(of: Reference.Referenced.self)
        var included = Query<Reference.Referenced>.Included()
        var missing: Set<RecordKey> = []
        for record in records {
            try included.add(record[keyPath: keyPath]._recordValue, &missing, reader, binding)
        }
        return included
    }
}

/// The records that references lead to.
private struct ReferredRecords {
    let reader: TableReader

    /// Those that references of some records lead to, each once.
    func all(
        of references: [String], in records: [DynamicRecord], _ entityName: String
    ) throws -> [RecordID: DynamicRecord] {
        let entity = reader.catalog.binding(of: try reader.table(named: entityName))
        let targets = try references.map { name in
            (name, try reader.table(named: entity.target(of: name).name))
        }
        var included: [RecordID: DynamicRecord] = [:]
        for record in records {
            for (name, target) in targets {
                guard case .reference(let key) = record.values[name] else { continue }
                let id = RecordID(entity: target.name, key: key)
                guard included[id] == nil else { continue }
                let isThere = try unsafe key.bytes.withUnsafeBytes {
                    try unsafe reader.withRow(of: target.number, key: $0) { _ in true } ?? false
                }
                if isThere { included[id] = try reader.dynamicRecord(key, in: target) }
            }
        }
        return included
    }
}
