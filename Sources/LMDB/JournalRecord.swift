import Glibc
import XXHash

/// What a change in a record does.
@usableFromInline
enum JournalChange: UInt8 {
    case put = 1
    case delete = 2
    /// A put behind all other keys of the database.
    case append = 3
}

/// One commit in a journal.
///
/// | bytes | field                                                                         |
/// |-------|-------------------------------------------------------------------------------|
/// | 8     | number of the state that the commit makes                                     |
/// | 8     | hash of the record before, or the chain of the position that it follows       |
/// | 4     | byte count of the changes                                                     |
/// | 4     | zero                                                                          |
/// | n     | the changes                                                                   |
/// | 8     | XXH64 of everything before, seeded with the id of the journal                 |
///
/// A change:
///
/// | bytes | field                                       |
/// |-------|---------------------------------------------|
/// | 1     | what: 1 put, 2 delete, 3 append             |
/// | 1     | zero                                        |
/// | 2     | number of the database                      |
/// | 2     | byte count of the key                       |
/// | 4     | byte count of the value; 0 for delete       |
/// | n, m  | key, value                                  |
///
/// Records begin at whole pages, and the rest of the last page is zeros, so that no byte of a record
/// that counts is ever written again.
@usableFromInline
enum JournalRecord {
    static let headBytes = 24
    static let hashBytes = 8
    @usableFromInline static let changeHeadBytes = 10
    static let pageBytes = 4_096

    /// What the head says.
    struct Head: Equatable {
        let number: UInt64
        let previous: UInt64
        let changeBytes: Int

        init(_ bytes: UnsafeRawBufferPointer) {
            number = bytes.number(at: 0)
            previous = bytes.number(at: 8)
            changeBytes = Int(bytes.number(at: 16, as: UInt32.self))
        }
    }

    /// The room that a record of so many bytes of changes takes.
    static func space(_ changeBytes: Int) -> Int {
        let bytes = headBytes + changeBytes + hashBytes
        return (bytes + pageBytes - 1) / pageBytes * pageBytes
    }

    /// Completes a record whose changes stand behind the head already.
    ///
    /// - Parameter record: ``space(_:)`` bytes.
    /// - Returns: Its hash.
    static func seal(
        _ record: UnsafeMutableRawBufferPointer, changeBytes: Int, number: UInt64,
        previous: UInt64, id: UInt64
    ) -> UInt64 {
        record.storeBytes(of: number.littleEndian, toByteOffset: 0, as: UInt64.self)
        record.storeBytes(of: previous.littleEndian, toByteOffset: 8, as: UInt64.self)
        record.storeBytes(
            of: UInt32(changeBytes).littleEndian, toByteOffset: 16, as: UInt32.self)
        record.storeBytes(of: 0, toByteOffset: 20, as: UInt32.self)
        let end = headBytes + changeBytes
        let hash = Checksum.xxh64(UnsafeRawBufferPointer(rebasing: record[..<end]), seed: id)
        record.storeBytes(of: hash.littleEndian, toByteOffset: end, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: record[(end + hashBytes)...])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return hash
    }

    /// The hash of a record that is whole; `nil` if it is not one of the journal.
    static func hash(_ record: UnsafeRawBufferPointer, id: UInt64) -> UInt64? {
        let end = headBytes + Head(record).changeBytes
        guard end + hashBytes <= record.count else { return nil }
        let hash = Checksum.xxh64(UnsafeRawBufferPointer(rebasing: record[..<end]), seed: id)
        return record.number(at: end) == hash ? hash : nil
    }

    /// Shows the changes of a record in their order.
    ///
    /// - Throws: `damaged` if the bytes are no changes; what `visit` throws.
    static func visitChanges(
        of record: UnsafeRawBufferPointer,
        _ visit: (_ database: UInt16, OverlayEntry) throws(LMDBError) -> Void
    ) throws(LMDBError) {
        let head = Head(record)
        var rest = UnsafeRawBufferPointer(rebasing: record[headBytes...].prefix(head.changeBytes))
        while !rest.isEmpty {
            guard rest.count >= changeHeadBytes else { throw damaged }
            let keyBytes = Int(rest.number(at: 4, as: UInt16.self))
            let valueBytes = Int(rest.number(at: 6, as: UInt32.self))
            let byteCount = changeHeadBytes + keyBytes + valueBytes
            guard let change = JournalChange(rawValue: rest[0] & 3), (1...511).contains(keyBytes),
                byteCount <= rest.count, let start = rest.baseAddress
            else { throw damaged }
            let entry = OverlayEntry(
                key: start + changeHeadBytes, keyCount: keyBytes, valueCount: valueBytes,
                number: head.number, change: change)
            try visit(rest.number(at: 2, as: UInt16.self), entry)
            rest = UnsafeRawBufferPointer(rebasing: rest[byteCount...])
        }
    }

    static var damaged: LMDBError {
        LMDBError(
            .damaged, "A record of the journal is damaged. Restore the store from a backup.")
    }
}

extension UnsafeRawBufferPointer {
    /// A little-endian number at an offset.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = UInt64.self
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
