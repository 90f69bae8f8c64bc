/// Groups of rows, and aggregates over each of them.
///
/// Groups are found by a hash of their keys, which stand one after another, so that a row whose group is
/// known allocates nothing.
struct Grouping {
    private struct Group {
        let key: Range<Int>
        let values: [RecordValue]
    }

    private let keys: [AttributeBinding]
    private let accumulators: [Accumulator]
    private var groups: [Group] = []
    private var keyBytes: [UInt8] = []
    /// What came of each group's rows, a state for each aggregate.
    private var states: [Accumulator.State] = []
    /// Numbers of groups from one on, by hash; zero is free. At most half are taken.
    private var slots: [Int32] = Array(repeating: 0, count: 64)
    /// Whether parts of the rows may be taken in apart from each other, come to the same, and are added up at
    /// little cost: then there is one group.
    var isDivisible: Bool { keys.isEmpty && accumulators.allSatisfy(\.isDivisible) }

    /// No rows.
    ///
    /// - Parameter attributes: What the rows of a group have in common; with none there is one group, even
    ///   if there are no rows.
    /// - Throws: ``QueryError`` for unknown attributes, and for aggregates that an attribute has not.
    init(
        by attributes: [String], _ aggregates: [RecordQuery.Aggregate], in entity: EntityBinding
    ) throws {
        keys = try attributes.map { try entity.attribute(named: $0) }
        accumulators = try aggregates.map { try Accumulator($0, in: entity) }
        if keys.isEmpty { unsafe [UInt8]().withUnsafeBytes { _ = unsafe group(of: $0) { [] } } }
    }

    /// Takes a row in.
    ///
    /// - Throws: ``QueryError`` or `FieldError` for a row that breaks the format, and for a sum of decimals
    ///   that has too many digits.
    mutating func add(_ body: UnsafeRawBufferPointer, scratch: inout ByteBuffer) throws {
        guard let fields = unsafe PackedFields(body) else { throw QueryExecutor.damaged }
        var first = 0
        if !keys.isEmpty {
            scratch.removeAll()
            let keys = keys
            for key in keys { try key.appendIdentity(of: fields, to: &scratch) }
            first = try unsafe group(of: scratch.bytes) {
                try keys.map { try $0.value(of: fields) }
            }
        }
        for (number, accumulator) in accumulators.enumerated() {
            try accumulator.add(fields, to: &states[first + number], scratch: &scratch)
        }
    }

    /// Adds the results of another one, whose rows come after its own. Needs two that are divisible.
    mutating func add(_ later: Grouping) {
        for (number, accumulator) in accumulators.enumerated() {
            accumulator.add(later.states[number], to: &states[number])
        }
    }

    /// The groups in the order of their values.
    ///
    /// - Throws: ``QueryError`` if a sum leaves its type.
    func result() throws -> [RecordQuery.Group] {
        let order = unsafe keyBytes.withUnsafeBytes { bytes in
            groups.indices.sorted {
                unsafe bytes.part(groups[$0].key).order(bytes.part(groups[$1].key)) < 0
            }
        }
        return try order.map { number in
            let first = number * accumulators.count
            return RecordQuery.Group(
                keys: groups[number].values,
                values: try accumulators.enumerated().map {
                    try $0.element.result(of: states[first + $0.offset])
                })
        }
    }

    /// Where the states of a key's group begin. A new group gets the values.
    private mutating func group(
        of key: UnsafeRawBufferPointer, values: () throws -> [RecordValue]
    ) rethrows -> Int {
        var slot = unsafe slot(of: key)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            let isSame = unsafe keyBytes.withUnsafeBytes {
                unsafe $0.part(groups[number].key).order(key) == 0
            }
            if isSame { return number * accumulators.count }
            slot = (slot + 1) & (slots.count - 1)
        }
        let (start, first) = (keyBytes.count, states.count)
        let values = try values()
        unsafe keyBytes.append(contentsOf: key)
        groups.append(Group(key: start..<keyBytes.count, values: values))
        for _ in accumulators { states.append(Accumulator.State()) }
        slots[slot] = Int32(groups.count)
        if groups.count * 2 > slots.count { grow() }
        return first
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for (number, group) in groups.enumerated() {
            var slot = unsafe keyBytes.withUnsafeBytes { unsafe self.slot(of: $0.part(group.key)) }
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(number + 1)
        }
    }

    /// Where a key is looked for at first. The hash has a secret of the process, so that whoever chooses the
    /// values of records can't have them all in one place.
    private func slot(of key: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        unsafe hasher.combine(bytes: key)
        return hasher.finalize() & (slots.count - 1)
    }
}
