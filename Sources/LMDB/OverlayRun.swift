/// The changes that wait for one database, in the order of their keys, each key once.
///
/// Entries lie in chunks, so that a copy shares all but those that change.
@usableFromInline
struct OverlayRun {
    /// A place between or on entries; behind all of them, `chunk` is the number of chunks.
    struct Place {
        var chunk: Int
        var index: Int
    }

    private static let chunkMax = 64

    /// None is empty.
    private(set) var chunks: [[OverlayEntry]] = []

    var isEmpty: Bool { chunks.isEmpty }
    var count: Int { chunks.reduce(0) { $0 + $1.count } }
    /// The bytes of all keys and values.
    var byteCount: Int {
        chunks.joined().reduce(0) { $0 + Int($1.keyCount) + Int($1.valueCount) }
    }
    var start: Place { Place(chunk: 0, index: 0) }
    var end: Place { Place(chunk: chunks.count, index: 0) }

    /// The entry at a place; `nil` behind all of them.
    subscript(_ place: Place) -> OverlayEntry? {
        place.chunk < chunks.count ? chunks[place.chunk][place.index] : nil
    }

    /// The place of the first entry whose key isn't less than `key`.
    ///
    /// - Complexity: O(log *n*)
    func place(atOrAfter key: UnsafeRawBufferPointer) -> Place {
        let prefix = OverlayEntry.prefix(key)
        // The first chunk whose last entry isn't less.
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            let chunk = chunks[middle]
            if chunk[chunk.count - 1].order(prefix: prefix, key) < 0 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < chunks.count else { return end }
        let chunk = chunks[low]
        var (first, last) = (0, chunk.count - 1)
        while first < last {
            let middle = (first + last) / 2
            if chunk[middle].order(prefix: prefix, key) < 0 {
                first = middle + 1
            } else {
                last = middle
            }
        }
        return Place(chunk: low, index: first)
    }

    /// The entry of a key.
    ///
    /// - Complexity: O(log *n*)
    func entry(of key: UnsafeRawBufferPointer) -> OverlayEntry? {
        guard let entry = self[place(atOrAfter: key)],
            OverlayEntry.order(entry.keyBytes, key) == 0
        else { return nil }
        return entry
    }

    /// The entry with the greatest key.
    var last: OverlayEntry? { chunks.last?.last }

    /// The place behind another that is on an entry.
    func place(after place: Place) -> Place {
        place.index + 1 < chunks[place.chunk].count
            ? Place(chunk: place.chunk, index: place.index + 1)
            : Place(chunk: place.chunk + 1, index: 0)
    }

    /// The place before another; `nil` before the first entry.
    func place(before place: Place) -> Place? {
        if place.index > 0 { return Place(chunk: place.chunk, index: place.index - 1) }
        guard place.chunk > 0 else { return nil }
        return Place(chunk: place.chunk - 1, index: chunks[place.chunk - 1].count - 1)
    }

    /// Adds an entry, or puts it in the place of that with the same key.
    ///
    /// - Returns: Whether the key is new.
    mutating func set(_ entry: OverlayEntry) -> Bool {
        let place = place(atOrAfter: entry.keyBytes)
        guard place.chunk < chunks.count else {
            // Behind all others: full chunks, as keys that are appended leave them.
            if let last = chunks.indices.last, chunks[last].count < Self.chunkMax {
                chunks[last].append(entry)
            } else {
                chunks.append([entry])
            }
            return true
        }
        if OverlayEntry.order(chunks[place.chunk][place.index].keyBytes, entry.keyBytes) == 0 {
            chunks[place.chunk][place.index] = entry
            return false
        }
        chunks[place.chunk].insert(entry, at: place.index)
        if chunks[place.chunk].count > Self.chunkMax {
            let half = chunks[place.chunk].count / 2
            let moved = Array(chunks[place.chunk][half...])
            chunks[place.chunk].removeSubrange(half...)
            chunks.insert(moved, at: place.chunk + 1)
        }
        return true
    }

    /// Drops the entries of records up to a number.
    ///
    /// - Complexity: O(*n*)
    mutating func prune(through number: UInt64) {
        var kept: [[OverlayEntry]] = []
        for chunk in chunks {
            let rest = chunk.filter { $0.number > number }
            guard let last = kept.indices.last, kept[last].count + rest.count <= Self.chunkMax
            else {
                if !rest.isEmpty { kept.append(rest) }
                continue
            }
            kept[last] += rest
        }
        chunks = kept
    }
}
