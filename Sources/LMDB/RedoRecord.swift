import XXHash

/// One commit in a redo file.
///
/// | bytes | field                                                                         |
/// |-------|-------------------------------------------------------------------------------|
/// | 8     | epoch                                                                         |
/// | 8     | id of the transaction                                                         |
/// | 8     | byte count of the changes                                                     |
/// | n     | the changes (``RedoBuffer``)                                                  |
/// | 8     | XXH64 of everything before                                                    |
///
/// Records begin at whole sectors, so that none shares a sector with one that is on disk already.
enum RedoRecord {
    static let headBytes = 24
    static let hashBytes = 8
    static let sectorBytes = 512

    /// The room that a record of so many bytes of changes takes.
    static func space(_ changeBytes: Int) -> Int {
        let bytes = headBytes + changeBytes + hashBytes
        return (bytes + sectorBytes - 1) / sectorBytes * sectorBytes
    }

    /// Writes a record into a buffer of ``space(_:)`` bytes.
    static func encode(
        _ changes: UnsafeRawBufferPointer, epoch: UInt64, transaction: UInt64,
        into output: UnsafeMutableRawBufferPointer
    ) {
        let end = headBytes + changes.count
        output.storeBytes(of: epoch.littleEndian, toByteOffset: 0, as: UInt64.self)
        output.storeBytes(of: transaction.littleEndian, toByteOffset: 8, as: UInt64.self)
        output.storeBytes(
            of: UInt64(changes.count).littleEndian, toByteOffset: 16, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: output[headBytes...]).copyMemory(from: changes)
        let hash = Checksum.xxh64(UnsafeRawBufferPointer(rebasing: output[..<end]))
        output.storeBytes(of: hash.littleEndian, toByteOffset: end, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: output[(end + hashBytes)...])
            .initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Finds the records of one epoch that stand one after another from the start of its half, and
    /// continue the transactions.
    ///
    /// - Parameter previous: The id of the transaction before the first.
    /// - Returns: The ranges of their changes.
    static func scan(
        _ half: UnsafeRawBufferPointer, epoch: UInt64, after previous: UInt64
    ) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var offset = 0
        while offset + headBytes + hashBytes <= half.count {
            func number(at position: Int) -> UInt64 {
                UInt64(
                    littleEndian: half.loadUnaligned(
                        fromByteOffset: offset + position, as: UInt64.self))
            }
            let changeBytes = number(at: 16)
            guard number(at: 0) == epoch, number(at: 8) == previous &+ UInt64(found.count) &+ 1,
                changeBytes <= UInt64(half.count - offset - headBytes - hashBytes)
            else { break }
            let end = headBytes + Int(changeBytes)
            let record = UnsafeRawBufferPointer(rebasing: half[offset..<offset + end])
            guard number(at: end) == Checksum.xxh64(record) else { break }
            found.append(offset + headBytes..<offset + end)
            offset += space(Int(changeBytes))
        }
        return found
    }
}
