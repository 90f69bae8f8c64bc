/// The changes of a commit that becomes a record, at the place where the record is made.
@usableFromInline
struct RecordDraft {
    let block: JournalBlock
    private let changeBytesMax: Int
    private let changesMax: Int
    /// The bytes of changes so far.
    private(set) var count = 0
    private var changes = 0

    init(block: JournalBlock, changeBytesMax: Int, changesMax: Int) {
        self.block = block
        self.changeBytesMax = changeBytesMax
        self.changesMax = changesMax
    }

    /// Adds a change.
    ///
    /// - Returns: The entry of an overlay for it; `nil` if there is no room.
    mutating func add(
        _ change: JournalChange, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        in database: UInt16, number: UInt64
    ) -> OverlayEntry? {
        let byteCount = JournalRecord.changeHeadBytes + key.count + value.count
        guard value.count <= changeBytesMax, count + byteCount <= changeBytesMax,
            changes < changesMax
        else { return nil }
        changes += 1
        let start = JournalRecord.headBytes + count
        let free = UnsafeMutableRawBufferPointer(rebasing: block.free[start...].prefix(byteCount))
        guard let memory = free.baseAddress else { return nil }
        free[0] = change.rawValue
        free[1] = 0
        free.storeBytes(of: database.littleEndian, toByteOffset: 2, as: UInt16.self)
        free.storeBytes(
            of: UInt16(key.count).littleEndian, toByteOffset: 4, as: UInt16.self)
        free.storeBytes(
            of: UInt32(value.count).littleEndian, toByteOffset: 6, as: UInt32.self)
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
