package import BackstitchCore

/// The row and the entries of one record in memory: where a ``Projector`` applies the operations of one record
/// after another, to find out what follows from them.
///
/// Entries depend on one record each, so that those of all records together are those of the tables.
package final class InMemoryRecord {
    private var rowBuffer = ByteBuffer(capacity: 1024)
    private var hasRow = false
    private var entries = EntryBuffer()

    /// Begins with a record that has nothing.
    package init() {}

    /// The record's row; nil if it has none.
    package var row: RowView? { unsafe hasRow ? RowView(rowBuffer.bytes) : nil }

    /// The bytes of the record's row; nil if it has none.
    package var rowBytes: UnsafeRawBufferPointer? { unsafe hasRow ? rowBuffer.bytes : nil }

    /// Visits the record's entries in some order, and begins with another record.
    package func finish(_ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        unsafe entries.visit(visit)
        entries.removeAll()
        hasRow = false
    }

    // MARK: For the projector

    func putRow(_ row: UnsafeRawBufferPointer) {
        rowBuffer.removeAll()
        unsafe rowBuffer.append(row)
        hasRow = true
    }

    func deleteRow() { hasRow = false }

    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        // Others have a sequence in their key, and are put once.
        if unsafe key.first != TableKey.journal, unsafe key.first != TableKey.contents {
            unsafe entries.remove(key)
        }
        unsafe entries.append(key, value)
    }

    func delete(_ key: UnsafeRawBufferPointer) { unsafe entries.remove(key) }
}

/// Entries of tables in memory, in some order.
@safe
package struct EntryBuffer: ~Copyable {
    private struct Entry {
        let start: Int
        let keyCount: Int
        let valueCount: Int

        var end: Int { start + keyCount + valueCount }
    }

    /// Keys and values, and what was of entries that are gone.
    private var buffer = ByteBuffer(capacity: 1024)
    private var entries: [Entry] = []
    private var garbageBytes = 0

    /// What is gone is let go of above so many bytes.
    private static let garbageBytesMax = 1 << 16

    package init() {}

    package mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        buffer.removeAll()
        garbageBytes = 0
    }

    package mutating func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        entries.append(Entry(start: buffer.count, keyCount: key.count, valueCount: value.count))
        unsafe buffer.append(key)
        unsafe buffer.append(value)
    }

    /// Removes the entry of a key, if there is one.
    ///
    /// - Complexity: O(*n*) in the entries; a record has few.
    mutating func remove(_ key: UnsafeRawBufferPointer) {
        guard let index = unsafe index(of: key) else { return }
        garbageBytes += entries[index].end - entries[index].start
        entries.swapAt(index, entries.count - 1)
        entries.removeLast()
        if garbageBytes > Self.garbageBytesMax { compact() }
    }

    private func index(of key: UnsafeRawBufferPointer) -> Int? {
        for index in entries.indices where entries[index].keyCount == key.count {
            if unsafe self.key(entries[index]).holdsSameBytes(as: key) { return index }
        }
        return nil
    }

    private func key(_ entry: Entry) -> UnsafeRawBufferPointer {
        unsafe buffer.bytes.part(entry.start..<entry.start + entry.keyCount)
    }

    private mutating func compact() {
        let kept = entries.map { unsafe (Array(buffer.bytes.part($0.start..<$0.end)), $0) }
        removeAll()
        for (bytes, entry) in kept {
            entries.append(
                Entry(
                    start: buffer.count, keyCount: entry.keyCount, valueCount: entry.valueCount))
            buffer.append(bytes)
        }
    }

    /// Puts the entries in the order of their keys.
    package mutating func sort() {
        let bytes = unsafe buffer.bytes
        entries.sort {
            let one = unsafe bytes.part($0.start..<$0.start + $0.keyCount)
            let other = unsafe bytes.part($1.start..<$1.start + $1.keyCount)
            return unsafe one.order(other) < 0
        }
    }

    package func visit(
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        for entry in entries {
            let value = unsafe buffer.bytes.part(entry.start + entry.keyCount..<entry.end)
            try unsafe visit(key(entry), value)
        }
    }
}
