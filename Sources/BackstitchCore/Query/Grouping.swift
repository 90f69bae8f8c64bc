/// Groups of rows, and aggregates over each of them.
struct Grouping {
    private struct Group {
        let key: [UInt8]
        let values: [RecordValue]
        let accumulators: [Accumulator]
    }

    private let keys: [AttributeBinding]
    private let entity: EntityBinding
    private let aggregates: [RecordQuery.Aggregate]
    private var groups: [Group] = []
    private var positions: [[UInt8]: Int] = [:]
    /// Whether parts of the rows may be taken in apart from each other, and come to the same: then there is one
    /// group.
    let isDivisible: Bool

    /// No rows.
    ///
    /// - Parameter attributes: What the rows of a group have in common; with none there is one group, even
    ///   if there are no rows.
    /// - Throws: ``QueryError`` for unknown attributes, and for aggregates that an attribute has not.
    init(
        by attributes: [String], _ aggregates: [RecordQuery.Aggregate], in entity: EntityBinding
    ) throws {
        keys = try attributes.map { try entity.attribute(named: $0) }
        (self.aggregates, self.entity) = (aggregates, entity)
        let first = try aggregates.map { try Accumulator($0, in: entity) }
        isDivisible = keys.isEmpty && first.allSatisfy(\.isDivisible)
        if keys.isEmpty { groups.append(Group(key: [], values: [], accumulators: first)) }
    }

    /// The same without rows. Needs one that is divisible.
    func emptied() throws -> Grouping {
        var empty = self
        empty.groups = [try makeGroup(key: [], values: [])]
        return empty
    }

    private func makeGroup(key: [UInt8], values: [RecordValue]) throws -> Group {
        Group(
            key: key, values: values,
            accumulators: try aggregates.map { try Accumulator($0, in: entity) })
    }

    /// Takes a row in.
    ///
    /// - Throws: ``QueryError`` or `FieldError` for a row that breaks the format, and for a sum of decimals
    ///   that has too many digits.
    mutating func add(_ body: UnsafeRawBufferPointer, scratch: inout ByteBuffer) throws {
        guard let fields = unsafe PackedFields(body) else { throw QueryExecutor.damaged }
        var at = 0
        if !keys.isEmpty {
            scratch.removeAll()
            for key in keys { try key.appendIdentity(of: fields, to: &scratch) }
            let bytes = scratch.array
            if let known = positions[bytes] {
                at = known
            } else {
                at = groups.count
                positions[bytes] = at
                groups.append(
                    try makeGroup(key: bytes, values: try keys.map { try $0.value(of: fields) }))
            }
        }
        for accumulator in groups[at].accumulators {
            try accumulator.add(fields, scratch: &scratch)
        }
    }

    /// Adds the results of another one, whose rows come after its own. Needs two that are divisible.
    func add(_ later: Grouping) {
        for (own, other) in zip(groups[0].accumulators, later.groups[0].accumulators) {
            own.add(other)
        }
    }

    /// The groups in the order of their values.
    ///
    /// - Throws: ``QueryError`` if a sum leaves its type.
    func result() throws -> [RecordQuery.Group] {
        try groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { group in
            RecordQuery.Group(
                keys: group.values, values: try group.accumulators.map { try $0.result() })
        }
    }
}
