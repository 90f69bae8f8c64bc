package import BackstitchCore
import XXHash

/// How many entries each table has of each entity, and sums of their hashes, which are the same in any order.
package struct EntrySums {
    /// Of a table and an entity.
    private struct Sum {
        var count = 0
        var keys: UInt64 = 0
        /// With their values.
        var entries: UInt64 = 0
    }

    /// The first three bytes of keys: the table and the entity. Of the tables without entities the first alone.
    private typealias Group = UInt32

    private let ignored: [[UInt8]]
    private var sums: [Group: Sum] = [:]

    /// - Parameter ignored: What the keys begin with of entries that don't count.
    package init(ignoring ignored: [[UInt8]]) { self.ignored = ignored }

    /// The number of entries.
    package var count: Int { sums.values.reduce(0) { $0 + $1.count } }

    package mutating func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if !ignored.isEmpty, ignored.contains(where: { unsafe key.starts(with: $0) }) {
            return
        }
        let hash = unsafe Checksum.xxh64(key)
        let entry = unsafe value.isEmpty ? hash : Checksum.xxh64(value, seed: hash)
        unsafe add(Sum(count: 1, keys: hash, entries: entry), to: Self.group(of: key))
    }

    /// Adds the stored entries of all tables but rows.
    package mutating func add(_ reader: TableReader) throws {
        let first = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        var sums = self
        _ = try unsafe StoredEntries.visit(
            reader.access, in: reader.databases.tables, from: first, to: nil, reversed: false
        ) { key, value in
            unsafe sums.add(key, value)
            return true
        }
        self = sums
    }

    package mutating func add(_ other: EntrySums) {
        for (group, sum) in other.sums { add(sum, to: group) }
    }

    private mutating func add(_ sum: Sum, to group: Group) {
        let old = sums[group] ?? Sum()
        sums[group] = Sum(
            count: old.count + sum.count, keys: old.keys &+ sum.keys,
            entries: old.entries &+ sum.entries)
    }

    private static func group(of key: UnsafeRawBufferPointer) -> Group {
        guard let table = unsafe key.first else { return 0 }
        let hasEntity = table != TableKey.journal && table != TableKey.contents && key.count > 2
        let entity = unsafe hasEntity ? TableKey.entity(of: key).rawValue : 0
        return Group(table) << 16 | Group(entity)
    }

    /// How stored entries differ from these.
    package enum Difference {
        case lacks, hasOthers, hasOtherValues
    }

    /// The first table and entity whose stored entries differ from these; nil if none do.
    ///
    /// - Parameter entity: Of tables without entities 0.
    package func difference(
        from stored: EntrySums
    ) -> (table: UInt8, entity: EntityNumber, kind: Difference)? {
        for group in Set(sums.keys).union(stored.sums.keys).sorted() {
            let (mine, theirs) = (sums[group] ?? Sum(), stored.sums[group] ?? Sum())
            let kind: Difference
            if mine.count > theirs.count {
                kind = .lacks
            } else if mine.count < theirs.count || mine.keys != theirs.keys {
                kind = .hasOthers
            } else if mine.entries != theirs.entries {
                kind = .hasOtherValues
            } else {
                continue
            }
            return (UInt8(group >> 16), EntityNumber(UInt16(group & 0xffff)), kind)
        }
        return nil
    }
}
