import CLMDB
import Glibc

/// A key with its beginning as a number, which decides most comparisons.
struct SearchKey {
    let bytes: UnsafeRawBufferPointer
    let prefix: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        prefix = bytes.count < 8 ? 0 : UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    }

    /// Below 0 if the key sorts before that of a node, above 0 if behind it.
    @inline(__always)
    func order(_ other: UnsafeRawBufferPointer) -> Int {
        if bytes.count >= 8, other.count >= 8 {
            let theirs = UInt64(bigEndian: other.loadUnaligned(as: UInt64.self))
            if prefix != theirs { return prefix < theirs ? -1 : 1 }
        }
        guard let mine = bytes.baseAddress, let theirs = other.baseAddress else {
            return bytes.count - other.count
        }
        let order = memcmp(mine, theirs, min(bytes.count, other.count))
        return order == 0 ? bytes.count - other.count : Int(order)
    }
}

/// A page in the map.
struct MappedPage {
    let start: UnsafeRawPointer
    private let byteCount: Int

    @inline(__always)
    init(_ start: UnsafeRawPointer, _ byteCount: Int) {
        self.start = start
        self.byteCount = byteCount
    }

    @inline(__always) private func number(at offset: Int) -> UInt16 {
        UInt16(littleEndian: start.load(fromByteOffset: offset, as: UInt16.self))
    }

    var number: UInt64 { UInt64(littleEndian: start.load(as: UInt64.self)) }

    @inline(__always) var flags: UInt16 { number(at: 10) }

    /// How many nodes it has; as many as have room at most.
    @inline(__always) var nodeCount: Int {
        let end = min(Int(number(at: 12)), byteCount)
        return max(0, end - PageWalk.headerBytes) / 2
    }

    @inline(__always) private func offset(ofNode index: Int) -> Int {
        Int(number(at: PageWalk.headerBytes + 2 * index))
    }

    @inline(__always) func node(_ index: Int) -> MappedNode? {
        let offset = offset(ofNode: index)
        guard offset <= byteCount - PageWalk.nodeHeaderBytes else { return nil }
        return MappedNode(start: start + offset, room: byteCount - offset)
    }

    /// The place of the first node from an index on that does not sort before a key, and whether it is
    /// the key's own; `nil` if a node leaves the page.
    @inline(__always)
    func place(
        of key: SearchKey, from first: Int, fetches: Bool = false
    ) -> (before: Int, isFound: Bool)? {
        var (low, high) = (first, nodeCount)
        guard low <= high else { return nil }
        while low < high {
            let middle = (low + high) / 2
            if fetches {
                cache_prefetch(start + offset(ofNode: (low + middle) / 2))
                cache_prefetch(start + offset(ofNode: (middle + 1 + high) / 2))
            }
            guard let bytes = node(middle)?.keyBytes else { return nil }
            let order = key.order(bytes)
            if order == 0 { return (middle, true) }
            if order < 0 { high = middle } else { low = middle + 1 }
        }
        return (low, false)
    }

    /// The index of the node of a branch page that leads to a key. The first stands for all keys before
    /// the second.
    @inline(__always)
    func child(of key: SearchKey) -> Int? {
        place(of: key, from: 1).map { $0.isFound ? $0.before : $0.before - 1 }
    }

    // MARK: Fetching ahead

    /// Of more nodes a search does not look at most lines of the page, and each is short.
    private static let fewNodes = 32
    /// What of an entry among few is looked at first.
    private static let entryBytes = 192

    /// Has the processor fetch the header and the places of nodes.
    @inline(__always) func prefetchHead() {
        cache_prefetch(start)
        cache_prefetch(start + 64)
    }

    /// Has the processor fetch the beginnings of all nodes of a page that has few.
    @inline(__always) func prefetchNodes() {
        let count = nodeCount
        guard count <= Self.fewNodes else { return }
        for index in 0..<count { cache_prefetch(start + offset(ofNode: index)) }
    }

    /// Has the processor fetch a node and what follows it, if there is one of the index.
    @inline(__always) func prefetchEntry(_ index: Int) {
        guard index < nodeCount else { return }
        let entry = start + offset(ofNode: index)
        cache_prefetch(entry)
        guard nodeCount <= Self.fewNodes else { return }
        for offset in stride(from: 64, to: Self.entryBytes, by: 64) {
            cache_prefetch(entry + offset)
        }
    }

    /// Has the processor fetch nodes, and what follows them.
    @inline(__always) func prefetchEntries(_ indexes: Range<Int>) {
        for index in indexes { prefetchEntry(index) }
    }
}

/// A node on a page.
struct MappedNode {
    let start: UnsafeRawPointer
    /// The bytes from its beginning to the end of the page.
    let room: Int

    @inline(__always) private func part(at offset: Int) -> UInt16 {
        UInt16(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inline(__always) private var low: UInt64 { UInt64(part(at: 0)) | UInt64(part(at: 2)) << 16 }

    /// Of a node of a leaf page.
    @inline(__always) var flags: UInt16 { part(at: 4) }

    /// Of a node of a branch page.
    @inline(__always) var child: UInt64 { low | UInt64(part(at: 4)) << 32 }

    /// `nil` if they leave the page.
    @inline(__always) var keyBytes: UnsafeRawBufferPointer? {
        let count = Int(part(at: 6))
        guard count <= room - PageWalk.nodeHeaderBytes else { return nil }
        return UnsafeRawBufferPointer(start: start + PageWalk.nodeHeaderBytes, count: count)
    }

    var valueByteCount: Int { Int(low) }

    /// The first bytes behind the key; `nil` if they leave the page.
    @inline(__always) func value(_ count: Int) -> UnsafeRawBufferPointer? {
        let offset = PageWalk.nodeHeaderBytes + Int(part(at: 6))
        guard offset + count <= room else { return nil }
        return UnsafeRawBufferPointer(start: start + offset, count: count)
    }
}
