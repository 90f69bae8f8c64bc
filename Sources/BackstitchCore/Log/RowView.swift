import XXHash

/// A stored row, read in place. Valid as long as its bytes are.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | format version: 1 |
/// | 1 | flags |
/// | 1 | byte counts of the next two: of the first in the low half; of the second in the high half, which is 15 if they are equal and it is left out |
/// | 1 | byte count of the third; and 16 if there is a change tag |
/// | 0 to 8 each | sequence of the last operation that changed content; sequence up to which it is synced; the service's modification time of the base, milliseconds since 1970 |
/// | 0 or 1 + n | change tag of the base: byte count, UTF-8 |
/// | rest | packed fields; none for a tombstone |
/// | 4 | low half of XXH64 of all bytes before, seeded with XXH64 of the row's key |
///
/// Rows in baselines have version 2: they lack the checksum, because that of the operation covers them.
@safe @usableFromInline
package struct RowView {
    /// Bits of the flags byte.
    @usableFromInline
    package struct Flags: OptionSet, Hashable, Sendable {
        @usableFromInline package let rawValue: UInt8
        @inlinable
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The protocol's own is generic code that is not specialized, and runs for every row.
        @inlinable
        package init(arrayLiteral flags: Flags...) {
            rawValue = flags.reduce(0) { $0 | $1.rawValue }
        }
        /// The record is deleted here, and the service does not know it yet.
        @inlinable package static var isDeleted: Flags { Flags(rawValue: 1) }
        /// The record can't be read as its Swift type.
        @inlinable package static var isUnreadable: Flags { Flags(rawValue: 2) }
        /// What keeps a record out of queries.
        @inlinable package static var notReadable: Flags { Flags(rawValue: 3) }
        /// The record's unsynced operations are parked.
        @inlinable package static var isParked: Flags { Flags(rawValue: 4) }
        /// The record was synced when the service lost its zone, and was not edited since: what the
        /// service has by now is no conflict.
        @inlinable package static var isForgotten: Flags { Flags(rawValue: 8) }
        /// The record is on the service and was taken off this device; set with `isDeleted`. The
        /// change tag is that of the version that was here.
        @inlinable package static var isEvicted: Flags { Flags(rawValue: 16) }
        /// What an operation that changes content takes away.
        @inlinable package static var contentMarks: Flags { Flags(rawValue: 31) }
    }

    @inlinable package static var formatVersion: UInt8 { 1 }
    /// The version of rows that have no checksum.
    @inlinable package static var uncheckedVersion: UInt8 { 2 }
    /// What stands for a sequence that equals the one before.
    @inlinable static var same: UInt8 { 15 }
    @inlinable static var hasTag: UInt8 { 16 }
    @usableFromInline static var fixedByteCount: Int { 4 }
    @inlinable package static var checksumByteCount: Int { 4 }

    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline let bodyStart: Int
    @usableFromInline let bodyEnd: Int

    /// A view of a row, or nil if the bytes are not a row. The checksum is not compared.
    @inlinable
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.fixedByteCount else { return nil }
        unsafe self.bytes = bytes
        switch unsafe bytes[0] {
        case Self.formatVersion: bodyEnd = bytes.count - Self.checksumByteCount
        case Self.uncheckedVersion: bodyEnd = bytes.count
        default: return nil
        }
        let (last, synced, modified) = unsafe (bytes[2] & 15, bytes[2] >> 4, bytes[3] & 15)
        guard last <= 8, synced <= 8 || synced == Self.same, modified <= 8, unsafe bytes[3] < 32
        else {
            return nil
        }
        var start = Self.fixedByteCount + Int(last) + Int(modified)
        if synced != Self.same { start += Int(synced) }
        if unsafe bytes[3] & Self.hasTag != 0 {
            guard start < bodyEnd else { return nil }
            unsafe start += 1 + Int(bytes[start])
        }
        guard start <= bodyEnd else { return nil }
        bodyStart = start
    }

    /// A number of so many bytes, which lie within the row.
    @inlinable
    @unsafe func number(at offset: Int, bytes count: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in 0..<count {
            unsafe number |= UInt64(bytes[offset + index]) << UInt64(8 * index)
        }
        return number
    }

    /// How many bytes the sequences have.
    @inlinable var lastBytes: Int { unsafe Int(bytes[2] & 15) }
    @inlinable var syncedBytes: Int { unsafe bytes[2] >> 4 == Self.same ? 0 : Int(bytes[2] >> 4) }

    /// Whether the row carries a checksum.
    package var isChecked: Bool { unsafe bytes[0] != Self.uncheckedVersion }

    /// Whether the row is as it was written at a key of the tables; a row without a checksum passes.
    /// Costs some 20 ns and 0.1 ns a byte.
    package func isIntact(at key: UnsafeRawBufferPointer) -> Bool {
        guard isChecked else { return true }
        return unsafe bytes.little(UInt32.self, at: bodyEnd)
            == Self.checksum(of: bytes.part(0..<bodyEnd), at: key)
    }

    /// Appends the checksum of a row, which is all that `output` holds.
    package static func appendChecksum(
        at key: UnsafeRawBufferPointer, to output: inout ByteBuffer
    ) {
        unsafe output.append(little: checksum(of: output.bytes, at: key))
    }

    private static func checksum(
        of bytes: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UInt32 {
        unsafe UInt32(truncatingIfNeeded: Checksum.xxh64(bytes, seed: Checksum.xxh64(key)))
    }

    @inlinable
    package var flags: Flags { unsafe Flags(rawValue: bytes[1]) }
    @inlinable
    package var isDeleted: Bool { flags.contains(.isDeleted) }
    @inlinable
    package var lastSequence: UInt64 {
        unsafe number(at: Self.fixedByteCount, bytes: lastBytes)
    }
    @inlinable
    package var syncedSequence: UInt64 {
        if unsafe bytes[2] >> 4 == Self.same { return lastSequence }
        return unsafe number(at: Self.fixedByteCount + lastBytes, bytes: syncedBytes)
    }
    @inlinable
    package var isDirty: Bool { lastSequence > syncedSequence }
    package var modifiedMilliseconds: Int64 {
        let start = Self.fixedByteCount + lastBytes + syncedBytes
        return unsafe Int64(bitPattern: number(at: start, bytes: Int(bytes[3] & 15)))
    }

    /// The change tag of the base; empty if the service is not known to have the record.
    package var changeTag: String {
        unsafe String(decoding: bytes.part((bodyStart - changeTagBytes)..<bodyStart), as: UTF8.self)
    }

    package var hasChangeTag: Bool { changeTagBytes > 0 }

    private var changeTagBytes: Int {
        guard unsafe bytes[3] & Self.hasTag != 0 else { return 0 }
        return unsafe Int(
            bytes[Self.fixedByteCount + lastBytes + syncedBytes + Int(bytes[3] & 15)])
    }

    @inlinable
    package var bodyBytes: UnsafeRawBufferPointer { unsafe bytes.part(bodyStart..<bodyEnd) }

    /// The packed fields, or nil for a tombstone or damaged bytes.
    @inlinable
    package var fields: PackedFields? { unsafe PackedFields(bodyBytes) }

    /// The header as values, to be changed and written again.
    package var header: RowHeader {
        RowHeader(
            flags: flags, lastSequence: lastSequence, syncedSequence: syncedSequence,
            modifiedMilliseconds: modifiedMilliseconds, changeTag: changeTag)
    }
}

/// The header of a row.
package struct RowHeader: Hashable, Sendable {
    package var flags: RowView.Flags = []
    package var lastSequence: UInt64 = 0
    package var syncedSequence: UInt64 = 0
    package var modifiedMilliseconds: Int64 = 0
    package var changeTag: String = ""

    package init(
        flags: RowView.Flags = [], lastSequence: UInt64 = 0, syncedSequence: UInt64 = 0,
        modifiedMilliseconds: Int64 = 0, changeTag: String = ""
    ) {
        self.flags = flags
        self.lastSequence = lastSequence
        self.syncedSequence = syncedSequence
        self.modifiedMilliseconds = modifiedMilliseconds
        self.changeTag = changeTag
    }

    package var isDirty: Bool { lastSequence > syncedSequence }
    package var isDeleted: Bool { flags.contains(.isDeleted) }
    /// Whether the record exists and has operations that the service lacks.
    package var isWaiting: Bool { isDirty && !isDeleted }

    /// Appends the stored form to `output`; the body follows, and then the checksum.
    package func append(to output: inout ByteBuffer) { append(RowView.formatVersion, to: &output) }

    /// Appends the form that rows in baselines have; the body follows, and no checksum.
    package func appendUnchecked(to output: inout ByteBuffer) {
        append(RowView.uncheckedVersion, to: &output)
    }

    private func append(_ version: UInt8, to output: inout ByteBuffer) {
        let isSame = syncedSequence == lastSequence
        let last = Self.byteCount(lastSequence)
        let synced = isSame ? Int(RowView.same) : Self.byteCount(syncedSequence)
        let time = UInt64(bitPattern: modifiedMilliseconds)
        let modified = Self.byteCount(time)
        let tagCount = changeTag.utf8.count
        precondition(tagCount <= 255, "A change tag is too long.")
        output.append(version)
        output.append(flags.rawValue)
        output.append(UInt8(last | synced << 4))
        output.append(UInt8(modified) | (tagCount > 0 ? RowView.hasTag : 0))
        Self.append(lastSequence, bytes: last, to: &output)
        if !isSame { Self.append(syncedSequence, bytes: synced, to: &output) }
        Self.append(time, bytes: modified, to: &output)
        guard tagCount > 0 else { return }
        output.append(UInt8(tagCount))
        output.append(utf8: changeTag)
    }

    private static func byteCount(_ number: UInt64) -> Int {
        (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
    }

    private static func append(_ number: UInt64, bytes count: Int, to output: inout ByteBuffer) {
        for index in 0..<count {
            output.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index)))
        }
    }
}
