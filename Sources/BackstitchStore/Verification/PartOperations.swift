import BackstitchCore
import BackstitchLog
import LMDB

/// The records of a log in parts with about as many operations each, in the order of their keys.
struct RecordParts {
    /// Where parts begin, but the first.
    private let bounds: [RecordBound]

    /// Operations that are looked at to find bounds.
    private static let samplesMax = 4_096

    /// - Parameter count: How many parts there shall be; there are fewer if few records have most operations.
    init(_ log: LogReader, count: Int) throws {
        var samples: [RecordBound] = []
        let head = try count > 1 ? log.head : 0
        let step = max(1, head / UInt64(Self.samplesMax))
        for sequence in stride(from: 1, through: head, by: UInt64.Stride(step)) {
            var bound: RecordBound?
            do {
                bound = try log.withOperation(sequence, verifies: false) { operation in
                    unsafe RecordBound(operation.entity, operation.keyBytes)
                }
            } catch is OperationDamage {
                // Whoever checks the log tells it.
            }
            if let bound { samples.append(bound) }
        }
        samples.sort { $0.order($1.entity, $1.key) < 0 }
        var bounds: [RecordBound] = []
        for part in 1..<max(1, count) where !samples.isEmpty {
            let bound = samples[samples.count * part / count]
            if bounds.last.map({ $0.order(bound.entity, bound.key) < 0 }) ?? true {
                bounds.append(bound)
            }
        }
        self.bounds = bounds
    }

    var count: Int { bounds.count + 1 }

    /// Whether a record is in a part.
    func holds(_ part: Int, _ entity: EntityNumber, _ key: UnsafeRawBufferPointer) -> Bool {
        if part > 0, unsafe bounds[part - 1].order(entity, key) > 0 { return false }
        return unsafe part == bounds.count || bounds[part].order(entity, key) > 0
    }
}

/// The first record of a part.
private struct RecordBound {
    let entity: EntityNumber
    let key: [UInt8]

    init(_ entity: EntityNumber, _ key: UnsafeRawBufferPointer) {
        (self.entity, self.key) = unsafe (entity, Array(key))
    }

    /// Below 0 if it sorts before a record.
    func order(_ entity: EntityNumber, _ key: UnsafeRawBufferPointer) -> Int {
        if self.entity != entity { return self.entity.rawValue < entity.rawValue ? -1 : 1 }
        return unsafe self.key.withUnsafeBytes { unsafe $0.order(key) }
    }

    func order(_ entity: EntityNumber, _ key: [UInt8]) -> Int {
        unsafe key.withUnsafeBytes { unsafe order(entity, $0) }
    }
}

/// The operations of a part of the records: the records in the order of their keys, and the operations of each in
/// theirs.
@safe
struct PartOperations {
    @safe
    fileprivate struct Entry {
        /// The entity and the beginning of the key, which decide most comparisons.
        let prefix: UInt64
        let sequence: UInt64
        let bytes: UnsafeRawBufferPointer
        let keyStart: UInt16
        let keyCount: UInt16

        init(_ operation: OperationView, _ bytes: UnsafeRawBufferPointer) {
            let key = unsafe operation.keyBytes
            var prefix = UInt64(operation.entity.rawValue)
            for index in 0..<Self.prefixKeyBytes {
                prefix = unsafe prefix << 8 | UInt64(index < key.count ? key[index] : 0)
            }
            var start = 0
            if let first = bytes.baseAddress, let keyStart = key.baseAddress {
                start = unsafe keyStart - first
            }
            self.prefix = prefix
            sequence = operation.sequence
            unsafe self.bytes = bytes
            (keyStart, keyCount) = (UInt16(start), UInt16(key.count))
        }

        private static let prefixKeyBytes = 6

        var entity: EntityNumber { EntityNumber(UInt16(prefix >> 48)) }

        var key: UnsafeRawBufferPointer {
            unsafe bytes.part(Int(keyStart)..<Int(keyStart) + Int(keyCount))
        }

        func isOfSameRecord(as other: Entry) -> Bool {
            guard prefix == other.prefix else { return false }
            return unsafe key.holdsSameBytes(as: other.key)
        }

        static func < (one: Entry, other: Entry) -> Bool {
            if one.prefix != other.prefix { return one.prefix < other.prefix }
            let order = unsafe one.key.order(other.key)
            return order != 0 ? order < 0 : one.sequence < other.sequence
        }
    }

    private var entries: [Entry] = []
    /// The operations, where the log may move them.
    private let copies: OperationCopies?

    /// The operations whose bytes are on their way from memory.
    private static let prefetched = 8
    /// What of an operation is looked at first.
    private static let prefetchedBytes = 384

    /// Finds the operations of a part.
    ///
    /// - Parameter copies: Whether the operations are copied, since something is written meanwhile where they
    ///   are. Otherwise their bytes are valid as long as the transaction is.
    /// - Throws: What is wrong with an operation's beginning.
    /// - Complexity: O(*n*) in the log, and O(*m* log *m*) in the operations of the part, of each of which 40
    ///   bytes are in memory.
    init(_ log: LogReader, part: Int, of parts: RecordParts, copies: Bool = false) throws {
        let copied = copies ? OperationCopies() : nil
        var found: [Entry] = []
        try unsafe log.visitStored(from: 1) { sequence, bytes in
            // Whoever applies it compares its checksum.
            var operation = try unsafe OperationView(bytes, sequence: sequence, verifies: false)
            guard unsafe parts.holds(part, operation.entity, operation.keyBytes) else {
                return true
            }
            var bytes = unsafe bytes
            if let copied {
                unsafe bytes = copied.add(bytes)
                operation = try unsafe OperationView(bytes, sequence: sequence, verifies: false)
            }
            unsafe found.append(Entry(operation, bytes))
            return true
        }
        found.sort(by: <)
        entries = found
        self.copies = copied
    }

    /// The operations of one record.
    struct OfRecord {
        fileprivate let entries: ArraySlice<Entry>

        var indices: Range<Int> { entries.indices }

        subscript(index: Int) -> OperationView {
            get throws {
                let entry = entries[index]
                return try unsafe OperationView(entry.bytes, sequence: entry.sequence)
            }
        }
    }

    /// Visits the records, each with all of its operations.
    func visitRecords(
        _ visit: (EntityNumber, _ key: UnsafeRawBufferPointer, OfRecord) throws -> Void
    ) throws {
        try withExtendedLifetime(copies) {
            var start = 0
            while start < entries.count {
                let first = entries[start]
                var end = start
                while end < entries.count, entries[end].isOfSameRecord(as: first) {
                    if end + Self.prefetched < entries.count {
                        _ = unsafe entries[end + Self.prefetched].bytes
                            .prefetched(Self.prefetchedBytes)
                    }
                    end += 1
                }
                try unsafe visit(first.entity, first.key, OfRecord(entries: entries[start..<end]))
                start = end
            }
        }
    }
}

extension PartOperations {
    /// Applies the operations of one record after another in memory, and tells what follows from them.
    ///
    /// - Parameters:
    ///   - progress: Called now and then with the number of operations since.
    ///   - visit: Gets each record; what it does not take is forgotten.
    func replay(
        _ reader: TableReader, progress: (Int) -> Void,
        _ visit: (EntityNumber, _ key: UnsafeRawBufferPointer, InMemoryRecord) throws -> Void
    ) throws {
        let record = InMemoryRecord()
        var projector = Projector(
            access: reader.access, databases: reader.databases, into: record)
        var done = 0
        try unsafe visitRecords { entity, key, operations in
            for index in operations.indices {
                _ = try projector.apply(operations[index], to: record.row, catalog: reader.catalog)
                done += 1
                if done % WorkProgress.interval == 0 { progress(WorkProgress.interval) }
            }
            try unsafe visit(entity, key, record)
        }
    }
}

/// Operations that are copied, so that they stay where they are.
@safe
private final class OperationCopies {
    private var blocks: [UnsafeMutableRawBufferPointer]
    /// The bytes of the last block that are taken.
    private var used = 0

    private static let blockBytes = 1 << 20

    init() { unsafe blocks = [] }

    deinit { unsafe blocks.forEach { unsafe $0.deallocate() } }

    func add(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let room = unsafe blocks.last.map { $0.count - used } ?? 0
        if room < bytes.count {
            unsafe blocks.append(
                .allocate(byteCount: max(bytes.count, Self.blockBytes), alignment: 8))
            used = 0
        }
        let place = unsafe UnsafeMutableRawBufferPointer(
            rebasing: blocks[blocks.count - 1][used..<used + bytes.count])
        unsafe place.copyMemory(from: bytes)
        used += bytes.count
        return UnsafeRawBufferPointer(place)
    }
}
