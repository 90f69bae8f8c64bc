/// A part of a hub's storage that is written by itself: what the whole hub shares, or one database.
///
/// Its number leads its keys, so that it is one range, and what lies behind the number names no
/// partition, so that a copy under another number reads the same.
package struct Partition: Hashable, Comparable, Sendable {
    /// The bytes of its number in keys.
    package static let byteCount = MemoryLayout<UInt64>.size
    /// State, names, credentials, sessions and devices.
    package static let global = Partition(number: 0)

    /// 0 for the global one, or the number of the database.
    package let number: UInt64

    package init(number: UInt64) { self.number = number }

    /// The partition of a key; nil of one without a partition.
    package init?(key: UnsafeRawBufferPointer) {
        guard key.count > Self.byteCount else { return nil }
        number = unsafe UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
    }

    package static func < (left: Partition, right: Partition) -> Bool { left.number < right.number }

    /// The number in hexadecimal digits, as addresses and folders have it.
    package var text: String { String(number, radix: 16) }

    /// The partition of a text, which is the one that ``text`` gives.
    package init?(text: some StringProtocol) {
        guard let number = UInt64(text, radix: 16), String(number, radix: 16) == text else {
            return nil
        }
        self.number = number
    }
}

/// The partitions that a transaction writes, in the order in which a storage with locks takes those.
package struct Partitions: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// Each once.
    package let ascending: [Partition]

    package init(_ partitions: some Sequence<Partition>) { ascending = Set(partitions).sorted() }

    package init(arrayLiteral partitions: Partition...) { self.init(partitions) }

    /// Stops a program that writes to a partition that its transaction did not name; in release builds
    /// nothing is checked.
    package func checkWrite(_ key: HubKey) {
        assert(
            ascending.contains { $0 == key.partition },
            "A transaction writes to a partition that it did not name.")
    }
}

/// What a partition takes up.
package struct PartitionSize: Hashable, Sendable {
    package var entries = 0
    /// Of keys and values.
    package var bytes = 0
}

extension HubReading {
    /// What a partition takes up, without the files of its records.
    ///
    /// - Complexity: O(*n*) in its entries.
    package func size(of partition: Partition) throws -> PartitionSize {
        var size = PartitionSize()
        try unsafe scan(HubKey(partition), from: nil) { key, value in
            size.entries += 1
            size.bytes += key.count + value.count
            return true
        }
        return size
    }

    /// Copies entries of a partition to another one, of this storage or another, so many at most.
    ///
    /// What the target has under the same keys is replaced; nothing else of it is changed. The partition
    /// must not be written to from the first part to the last.
    ///
    /// - Parameter start: Where to begin, as the part before told; nil for the first one.
    /// - Returns: Where the next part begins; nil after the last one.
    package func copy(
        _ partition: Partition, to target: any HubWriting, as other: Partition,
        from start: HubKey? = nil, countMax: Int
    ) throws -> HubKey? {
        expect { [.first(countMax + 1, of: HubKey(partition), from: start)] }
        var entries: [(key: HubKey, value: [UInt8])] = []
        var next: HubKey?
        try unsafe scan(HubKey(partition), from: start) { key, value in
            let key = unsafe HubKey(bytes: key)
            if entries.count == countMax {
                next = key
            } else {
                unsafe entries.append((key, Array(value)))
            }
            return next == nil
        }
        // After the scan: an entry's bytes don't survive a write.
        for (key, value) in entries {
            try target.put(HubKey(other, behind: key.behindPartition), value)
        }
        return next
    }
}

extension HubWriting {
    /// Erases entries of a partition, so many at most. Files are the caller's to remove.
    ///
    /// - Parameter table: Where it ends: this table and those behind it stay.
    /// - Returns: How many went; fewer than the most if none is left.
    package func erase(
        _ partition: Partition, before table: HubKey.Table? = nil, countMax: Int
    ) throws -> Int {
        expect { [.first(countMax, of: HubKey(partition))] }
        var keys: [HubKey] = []
        try unsafe scan(HubKey(partition), from: nil) { key, _ in
            let key = unsafe HubKey(bytes: key)
            if let table, let byte = key.behindPartition.first, byte >= table.rawValue {
                return false
            }
            keys.append(key)
            return keys.count < countMax
        }
        for key in keys { try delete(key) }
        return keys.count
    }
}
