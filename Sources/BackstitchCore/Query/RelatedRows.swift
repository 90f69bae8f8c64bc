/// Copies of rows that one run of a query looked up by their keys: many rows lead to few others.
///
/// Bytes that it gave stay where they are as long as it lives. When it is full, it keeps no more rows.
@safe
struct RelatedRows: ~Copyable {
    /// The most bytes of keys and rows that are kept.
    static let byteCountMax = 4 << 20

    /// What is known of a key.
    @safe
    enum Known {
        case nothing
        /// No row has it.
        case absent
        case row(UnsafeRawBufferPointer)
    }

    @safe
    private struct Entry {
        let hash: Int
        let entity: EntityNumber
        let key: UnsafeRawBufferPointer
        let body: UnsafeRawBufferPointer?
    }

    private var entries: [Entry] = []
    /// The positions of entries, in places that their hashes tell; -1 where none is.
    private var places: [Int32] = []
    private var parts: [UnsafeMutableRawBufferPointer] = unsafe []
    private var usedInPart = 0
    private var byteCount = 0

    deinit {
        for at in unsafe parts.indices { unsafe parts[at].deallocate() }
    }

    /// What is known of a record.
    func known(of entity: EntityNumber, _ key: UnsafeRawBufferPointer) -> Known {
        guard !places.isEmpty else { return .nothing }
        let hash = unsafe key.recordHash
        var place = hash & (places.count - 1)
        while places[place] >= 0 {
            let entry = entries[Int(places[place])]
            if entry.hash == hash, entry.entity == entity, unsafe entry.key.holdsSameBytes(as: key)
            {
                return unsafe entry.body.map { unsafe .row($0) } ?? .absent
            }
            place = (place + 1) & (places.count - 1)
        }
        return .nothing
    }

    /// Keeps what was found of a record of which nothing is known: its packed fields, or nil if it has no row.
    mutating func keep(
        _ body: UnsafeRawBufferPointer?, of entity: EntityNumber, _ key: UnsafeRawBufferPointer
    ) {
        let needed = unsafe key.count + (body?.count ?? 0)
        guard byteCount + needed <= Self.byteCountMax else { return }
        if 2 * (entries.count + 1) > places.count { growPlaces() }
        let hash = unsafe key.recordHash
        put(hash, Int32(entries.count))
        unsafe entries.append(
            Entry(hash: hash, entity: entity, key: copy(key), body: body.map { unsafe copy($0) }))
        byteCount += needed
    }

    private mutating func put(_ hash: Int, _ position: Int32) {
        var place = hash & (places.count - 1)
        while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
        places[place] = position
    }

    private mutating func growPlaces() {
        places = [Int32](repeating: -1, count: max(16, 2 * places.count))
        for (position, entry) in entries.enumerated() { put(entry.hash, Int32(position)) }
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if unsafe parts.last.map({ $0.count - usedInPart < bytes.count }) ?? true {
            let size = unsafe min(65_536, 1_024 << parts.count)
            unsafe parts.append(.allocate(byteCount: max(size, bytes.count), alignment: 8))
            usedInPart = 0
        }
        let part = unsafe parts[parts.count - 1]
        let copy = unsafe UnsafeMutableRawBufferPointer(
            rebasing: part[usedInPart..<(usedInPart + bytes.count)])
        unsafe copy.copyMemory(from: bytes)
        usedInPart += bytes.count
        return UnsafeRawBufferPointer(copy)
    }
}
