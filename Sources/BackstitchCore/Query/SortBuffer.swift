/// Sorts record keys by the sort keys of their rows, and keeps no more than asked for.
///
/// An entry's bytes are its sort keys (`OrderedKey`, whole, inverted if the order is reversed)
/// and its record key, so that comparing bytes is comparing records, and no two are equal.
struct SortBuffer: ~Copyable {
    fileprivate struct Entry {
        /// The first eight bytes, as a number that compares as they do.
        var prefix: UInt64
        var start: Int
        /// Where the record key starts.
        var keyStart: Int
        var end: Int
    }

    /// The most entries that are kept: those that sort first.
    private var countMax: Int
    private var entries: [Entry] = []
    private var data = ByteBuffer(capacity: 4096)
    private var liveByteCount = 0
    /// Entries up to these bytes are left out.
    private var after: [UInt8]?

    init(countMax: Int?, after: [UInt8]? = nil) {
        self.countMax = countMax ?? .max
        self.after = after
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Forgets all entries and keeps the room.
    mutating func reset(countMax: Int?, after: [UInt8]? = nil) {
        self.countMax = countMax ?? .max
        self.after = after
        entries.removeAll(keepingCapacity: true)
        data.removeAll()
        liveByteCount = 0
    }

    /// Adds a record with its sort keys, which are read from its row.
    ///
    /// - Parameter leading: The first of the steps, if its first bytes are cheap to make.
    mutating func add(
        key: UnsafeRawBufferPointer, steps: ArraySlice<QueryPlan.Step>, leading: SortLeading?,
        fields: PackedFields?, _ context: RowContext?
    ) throws {
        if let leading, entries.count >= countMax, let fields,
            let least = try leading.least(of: fields), least > entries[0].prefix
        {
            return
        }
        let start = data.count
        // In place: a copy of a step counts a dozen references.
        try unsafe steps.withUnsafeBufferPointer { steps in
            for at in steps.indices {
                try unsafe steps[at].append(key: key, fields: fields, context, to: &data)
            }
        }
        let keyStart = data.count
        unsafe data.append(key)
        if let after, unsafe data.bytes.part(start..<data.count).order(after) <= 0 {
            data.truncate(to: start)
            return
        }
        let entry = unsafe Entry(
            prefix: data.bytes.leading(from: start), start: start, keyStart: keyStart,
            end: data.count)
        insert(entry)
    }

    private mutating func insert(_ entry: Entry) {
        if entries.count < countMax {
            entries.append(entry)
            liveByteCount += entry.end - entry.start
            if entries.count == countMax { makeHeap() }
            return
        }
        guard let last = entries.first, unsafe Self.precedes(entry, last, in: data.bytes) else {
            data.truncate(to: entry.start)
            return
        }
        liveByteCount += (entry.end - entry.start) - (last.end - last.start)
        entries[0] = entry
        siftDown(from: 0)
        if data.count > 65_536, data.count > 4 * liveByteCount { compact() }
    }

    /// Calls `visit` with each record key in order, and with all that the order compares.
    mutating func visitPlaces(
        _ visit: (_ key: UnsafeRawBufferPointer, _ place: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        sort()
        let bytes = unsafe data.bytes
        for entry in entries {
            try unsafe visit(
                bytes.part(entry.keyStart..<entry.end), bytes.part(entry.start..<entry.end))
        }
    }

    /// Calls `visit` with each record key in order, until it returns false.
    ///
    /// - Parameter ahead: Gets the number of keys that are visited next, and each by its place.
    /// - Returns: false if `visit` did.
    mutating func visitSorted(
        ahead: (_ count: Int, _ key: (Int) -> UnsafeRawBufferPointer) -> Void = { _, _ in },
        _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        sort()
        let bytes = unsafe data.bytes
        func key(_ index: Int) -> UnsafeRawBufferPointer {
            unsafe bytes.part(entries[index].keyStart..<entries[index].end)
        }
        for index in entries.indices {
            if index % Self.aheadCount == 0 {
                unsafe ahead(min(Self.aheadCount, entries.count - index)) { unsafe key(index + $0) }
            }
            if try unsafe !visit(key(index)) { return false }
        }
        return true
    }

    private static let aheadCount = 16

    /// A buffer whose entries are in order, and how far they were visited.
    final class Sorted {
        private let buffer: SortBuffer
        private var position = 0

        init(_ buffer: consuming SortBuffer) {
            buffer.sort()
            self.buffer = buffer
        }

        fileprivate var head: Entry? {
            position < buffer.entries.count ? buffer.entries[position] : nil
        }

        fileprivate var bytes: UnsafeRawBufferPointer { unsafe buffer.data.bytes }

        fileprivate func next() { position += 1 }
    }

    /// Calls `visit` with each record key of several buffers in order, until it returns false.
    ///
    /// - Complexity: O(*n* · *m*) in the visited keys and the buffers, which are few.
    static func visitMerged(
        _ buffers: [Sorted], _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        while true {
            var first: (buffer: Sorted, entry: Entry)?
            for buffer in buffers {
                guard let entry = buffer.head else { continue }
                if let first,
                    unsafe !precedes(entry, in: buffer.bytes, first.entry, in: first.buffer.bytes)
                {
                    continue
                }
                first = (buffer, entry)
            }
            guard let (buffer, entry) = first else { return }
            guard try unsafe visit(buffer.bytes.part(entry.keyStart..<entry.end)) else { return }
            buffer.next()
        }
    }

    private mutating func sort() {
        let bytes = unsafe data.bytes
        if entries.count > 1 {
            entries.sort { unsafe Self.precedes($0, $1, in: bytes) }
        }
    }

    private static func precedes(
        _ left: Entry, in leftBytes: UnsafeRawBufferPointer,
        _ right: Entry, in rightBytes: UnsafeRawBufferPointer
    ) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        return unsafe leftBytes.part(left.start..<left.end).order(
            rightBytes.part(right.start..<right.end)) < 0
    }

    private static func precedes(
        _ left: Entry, _ right: Entry, in bytes: UnsafeRawBufferPointer
    ) -> Bool {
        unsafe precedes(left, in: bytes, right, in: bytes)
    }

    // MARK: The heap, whose first entry sorts last

    private mutating func makeHeap() {
        for at in stride(from: entries.count / 2 - 1, through: 0, by: -1) { siftDown(from: at) }
    }

    private mutating func siftDown(from position: Int) {
        let bytes = unsafe data.bytes
        var at = position
        while true {
            var largest = at
            for child in [2 * at + 1, 2 * at + 2] where child < entries.count {
                if unsafe Self.precedes(entries[largest], entries[child], in: bytes) {
                    largest = child
                }
            }
            if largest == at { return }
            entries.swapAt(at, largest)
            at = largest
        }
    }

    /// Drops the bytes of entries that are kept no more.
    private mutating func compact() {
        var live = ByteBuffer(capacity: 2 * liveByteCount)
        for at in entries.indices {
            let entry = entries[at]
            let start = live.count
            unsafe live.append(data.bytes.part(entry.start..<entry.end))
            entries[at].start = start
            entries[at].keyStart = start + entry.keyStart - entry.start
            entries[at].end = live.count
        }
        data = live
    }
}

extension UnsafeRawBufferPointer {
    /// The eight bytes from a position on, or fewer and zeros, as a number that sorts as they do.
    @inline(__always)
    func leading(from start: Int) -> UInt64 {
        if start + 8 <= count {
            return unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: start, as: UInt64.self))
        }
        var result: UInt64 = 0
        for offset in 0..<8 {
            result =
                unsafe result << 8 | (start + offset < count ? UInt64(self[start + offset]) : 0)
        }
        return result
    }
}
