/// Stored record keys in their order, each once, which ``checkInvariants()`` checks.
struct KeySet: ~Copyable {
    private struct Entry {
        var start: Int
        var count: Int
    }

    private var data = ByteBuffer(capacity: 4096)
    private var entries: [Entry] = []

    /// Collects the keys of a source: some 40 bytes of memory each.
    init<Source: RowSource & ~Copyable>(
        _ keySource: KeySource, of entity: EntityNumber, on source: borrowing Source
    ) throws {
        guard case .intersection(let parts) = keySource, let first = parts.first else {
            try collect(keySource, of: entity, on: source)
            checkInvariants()
            return
        }
        try collect(first, of: entity, on: source)
        for part in parts.dropFirst() { try keep(part, of: entity, on: source) }
        checkInvariants()
    }

    /// A set of keys that are said to be in order.
    init(ordered keys: [[UInt8]]) {
        for key in keys {
            entries.append(Entry(start: data.count, count: key.count))
            data.append(key)
        }
    }

    /// Traps if keys are not in order, or not once, unless the build is optimised.
    func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the set; nil if nothing is.
    var violation: String? {
        for (left, right) in zip(entries, entries.dropFirst()) {
            let order = unsafe bytes(left).order(bytes(right))
            if order == 0 { return "A key is there twice." }
            if order > 0 { return "The keys are not in their order." }
        }
        return nil
    }

    private mutating func collect<Source: RowSource & ~Copyable>(
        _ keySource: KeySource, of entity: EntityNumber, on source: borrowing Source
    ) throws {
        _ = try unsafe keySource.visit(of: entity, on: source) { key in
            entries.append(Entry(start: data.count, count: key.count))
            unsafe data.append(key)
            return true
        }
        let bytes = unsafe data.bytes
        entries.sort { left, right in
            unsafe bytes.part(left.start..<(left.start + left.count))
                .order(bytes.part(right.start..<(right.start + right.count))) < 0
        }
        var unique: [Entry] = []
        for entry in entries {
            if let last = unique.last, unsafe self.bytes(last).order(self.bytes(entry)) == 0 {
                continue
            }
            unique.append(entry)
        }
        entries = unique
    }

    /// Drops the keys that another source lacks.
    private mutating func keep<Source: RowSource & ~Copyable>(
        _ keySource: KeySource, of entity: EntityNumber, on source: borrowing Source
    ) throws {
        var isKept = [Bool](repeating: false, count: entries.count)
        _ = try unsafe keySource.visit(of: entity, on: source) { key in
            if let position = unsafe position(of: key) { isKept[position] = true }
            return true
        }
        entries = zip(entries, isKept).compactMap { $1 ? $0 : nil }
    }

    private func position(of key: UnsafeRawBufferPointer) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            let order = unsafe bytes(entries[middle]).order(key)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private func bytes(_ entry: Entry) -> UnsafeRawBufferPointer {
        unsafe data.bytes.part(entry.start..<(entry.start + entry.count))
    }

    /// Visits the keys in order, until `visit` returns false.
    func visit(_ visit: (UnsafeRawBufferPointer) throws -> Bool) throws {
        for entry in entries where try unsafe !visit(bytes(entry)) { return }
    }
}
