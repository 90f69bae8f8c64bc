import XXHash

/// A stored row, read in place. Valid as long as its bytes are.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | format version: 2, or 1 without a checksum |
/// | 1 | flags |
/// | 1, 1 | byte count of the change tag; zero |
/// | 8, 8 | sequence of the last operation that changed content; sequence up to which it is synced |
/// | 8 | the service's modification time of the base, milliseconds since 1970 |
/// | n | change tag of the base |
/// | rest | packed fields; none for a tombstone |
/// | 4 | version 2: low half of XXH64 of all bytes before, seeded with XXH64 of the row's key |
///
/// Rows in baselines have version 1: the checksum of the operation covers them.
@usableFromInline
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

    @inlinable package static var formatVersion: UInt8 { 2 }
    /// The version of rows that have no checksum.
    @inlinable package static var uncheckedVersion: UInt8 { 1 }
    @inlinable package static var fixedByteCount: Int { 28 }
    @inlinable package static var checksumByteCount: Int { 4 }

    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline let bodyStart: Int
    @usableFromInline let bodyEnd: Int

    /// A view of a row, or nil if the bytes are not a row. The checksum is not compared.
    @inlinable
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.fixedByteCount else { return nil }
        switch bytes[0] {
        case Self.formatVersion: bodyEnd = bytes.count - Self.checksumByteCount
        case Self.uncheckedVersion: bodyEnd = bytes.count
        default: return nil
        }
        bodyStart = Self.fixedByteCount + Int(bytes[2])
        guard bodyStart <= bodyEnd else { return nil }
        self.bytes = bytes
    }

    /// Whether the row carries a checksum.
    package var isChecked: Bool { bytes[0] == Self.formatVersion }

    /// Whether the row is as it was written at a key of the tables; a row without a checksum passes.
    /// Costs some 20 ns and 0.1 ns a byte.
    package func isIntact(at key: UnsafeRawBufferPointer) -> Bool {
        guard isChecked else { return true }
        return bytes.little(UInt32.self, at: bodyEnd)
            == Self.checksum(of: bytes.part(0..<bodyEnd), at: key)
    }

    /// Everything but the version and the checksum.
    package var contents: UnsafeRawBufferPointer { bytes.part(1..<bodyEnd) }

    /// Appends the checksum of a row of version 2, which is all that `output` holds.
    package static func appendChecksum(
        at key: UnsafeRawBufferPointer, to output: inout ByteBuffer
    ) {
        output.append(little: checksum(of: output.bytes, at: key))
    }

    private static func checksum(
        of bytes: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UInt32 {
        UInt32(truncatingIfNeeded: Checksum.xxh64(bytes, seed: Checksum.xxh64(key)))
    }

    @inlinable
    package var flags: Flags { Flags(rawValue: bytes[1]) }
    @inlinable
    package var isDeleted: Bool { flags.contains(.isDeleted) }
    @inlinable
    package var lastSequence: UInt64 { bytes.little(UInt64.self, at: 4) }
    @inlinable
    package var syncedSequence: UInt64 { bytes.little(UInt64.self, at: 12) }
    @inlinable
    package var isDirty: Bool { lastSequence > syncedSequence }
    package var modifiedMilliseconds: Int64 { bytes.little(Int64.self, at: 20) }

    /// The change tag of the base; empty if the service is not known to have the record.
    package var changeTag: String {
        String(decoding: bytes.part(Self.fixedByteCount..<bodyStart), as: UTF8.self)
    }

    package var hasChangeTag: Bool { bytes[2] > 0 }

    @inlinable
    package var bodyBytes: UnsafeRawBufferPointer { bytes.part(bodyStart..<bodyEnd) }

    /// The packed fields, or nil for a tombstone or damaged bytes.
    @inlinable
    package var fields: PackedFields? { PackedFields(bodyBytes) }

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

    /// Appends the stored form to `output`; the body follows, and then the checksum.
    package func append(
        to output: inout ByteBuffer, version: UInt8 = RowView.formatVersion
    ) {
        let tagCount = changeTag.utf8.count
        precondition(tagCount <= 255, "A change tag is too long.")
        output.append(version)
        output.append(flags.rawValue)
        output.append(UInt8(tagCount))
        output.append(0)
        output.append(little: lastSequence)
        output.append(little: syncedSequence)
        output.append(little: modifiedMilliseconds)
        output.append(utf8: changeTag)
    }
}
