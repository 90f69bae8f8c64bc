/// The changes of a commit that becomes a record, at the place where the record is made.
@usableFromInline
struct RecordDraft {
    let block: JournalBlock
    let changeBytesMax: Int
    /// The bytes of changes so far.
    private(set) var count = 0

    init(block: JournalBlock, changeBytesMax: Int) {
        self.block = block
        self.changeBytesMax = changeBytesMax
    }

    /// Adds a change.
    ///
    /// - Returns: The entry of an overlay for it; `nil` if there is no room.
    mutating func add(
        _ change: JournalChange, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        in database: Int, number: UInt64
    ) -> OverlayEntry? {
        let byteCount = JournalRecord.changeHeadBytes + key.count + value.count
        guard value.count <= changeBytesMax, count + byteCount <= changeBytesMax else {
            return nil
        }
        let start = JournalRecord.headBytes + count
        let free = UnsafeMutableRawBufferPointer(rebasing: block.free[start...].prefix(byteCount))
        guard let memory = free.baseAddress else { return nil }
        free[0] = change.rawValue | UInt8(database >> 8) << 2
        free[1] = UInt8(truncatingIfNeeded: database)
        free.storeBytes(
            of: UInt16(key.count).littleEndian, toByteOffset: 2, as: UInt16.self)
        free.storeBytes(
            of: UInt32(value.count).littleEndian, toByteOffset: 4, as: UInt32.self)
        let keyStart = JournalRecord.changeHeadBytes
        UnsafeMutableRawBufferPointer(rebasing: free[keyStart...]).copyMemory(from: key)
        UnsafeMutableRawBufferPointer(rebasing: free[(keyStart + key.count)...])
            .copyMemory(from: value)
        count += byteCount
        return OverlayEntry(
            key: memory + keyStart, keyCount: key.count, valueCount: value.count, number: number,
            change: change)
    }
}
