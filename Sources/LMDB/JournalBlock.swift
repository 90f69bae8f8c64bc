/// Memory that holds records, one behind the other, from whole pages on, as the file wants them.
/// Overlays that point into it keep it.
///
/// Only one thread at a time adds to it; what is there stays as it is.
final class JournalBlock: @unchecked Sendable {  // One thread adds; what is there stays.
    /// Room for more than a hundred small records.
    private static let byteCountMin = 512 << 10

    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var used = 0

    /// - Parameter room: The least room. There is twice as much, because a block with less than the
    ///   next record could take is not used any more. What is not written to takes no memory.
    init(room: Int) {
        bytes = .allocate(
            byteCount: max(Self.byteCountMin, 2 * room), alignment: JournalRecord.pageBytes)
    }

    /// A block with room, the given one if it has it.
    static func with(_ room: Int, _ block: inout JournalBlock?) -> JournalBlock {
        if let block, block.free.count >= room { return block }
        let new = JournalBlock(room: room)
        block = new
        return new
    }

    deinit { bytes.deallocate() }

    var free: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[used...])
    }

    /// Keeps the first bytes of what was free.
    func take(_ count: Int) { used += count }
}
