import XXHash

/// Writes operations in their stored form.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | format version, 1 |
/// | 1, 1, 1 | kind, origin, flags |
/// | 2, 2 | entity number; zero |
/// | 8, 8, 8 | transaction, clock, previous sequence of the record |
/// | 18 to 258 | record key |
/// | 1 + n | author: byte count, UTF-8 |
/// | 2 + n | with a context: byte count, UTF-8 |
/// | 1 + n, 8, 8 | with a stamp: change tag, modification time, acknowledged sequence |
/// | 4 + n | with a conflict: byte count, conflict report |
/// | 4 + n | update: byte count, changed fields before |
/// | n | fields after (insert, update), before (delete), reason as UTF-8 (park), `BaselineView` (baseline) |
/// | 4 | low half of XXH64 of all bytes before it, seeded with the sequence |
package enum OperationEncoder {
    package static let formatVersion: UInt8 = 1
    package static let fixedByteCount = 32
    package static let checksumByteCount = 4

    /// Appends everything up to the payload to `output`, which is empty.
    package static func begin(
        _ header: OperationHeader, stamp: SyncStamp? = nil,
        conflict: ConflictReport? = nil, into output: inout ByteBuffer
    ) throws(FieldError) {
        var flags = header.flags
        if stamp != nil { flags.insert(.hasStamp) }
        if conflict != nil { flags.insert(.hasConflict) }
        if !header.context.isEmpty { flags.insert(.hasContext) }
        output.append(formatVersion)
        output.append(header.kind.rawValue)
        output.append(header.origin.rawValue)
        output.append(flags.rawValue)
        output.append(little: header.entity.rawValue)
        output.append(little: UInt16(0))
        output.append(little: header.transaction)
        output.append(little: header.clock)
        output.append(little: header.previous)
        output.append(header.key)
        appendShort(header.author, to: &output)
        if !header.context.isEmpty { appendContext(header.context, to: &output) }
        if let stamp {
            appendShort(stamp.changeTag, to: &output)
            output.append(little: stamp.modifiedMilliseconds)
            output.append(little: stamp.acknowledgedThrough)
        }
        if let conflict {
            let at = output.count
            output.append(little: UInt32(0))
            try conflict.append(to: &output)
            output.store(little: UInt32(output.count - at - 4), at: at)
        }
    }

    /// Appends everything up to the payload of an operation that takes the place of another in the
    /// log: its time, author, context, transaction and conflict report stay.
    package static func begin(
        _ kind: OperationKind, inPlaceOf old: OperationView, flags: OperationHeader.Flags = [],
        into output: inout ByteBuffer
    ) {
        var flags = flags
        if unsafe old.conflictBytes != nil { flags.insert(.hasConflict) }
        if unsafe old.contextBytes.count > 0 { flags.insert(.hasContext) }
        output.append(formatVersion)
        output.append(kind.rawValue)
        output.append(old.origin.rawValue)
        output.append(flags.rawValue)
        output.append(little: old.entity.rawValue)
        output.append(little: UInt16(0))
        output.append(little: old.transaction)
        output.append(little: old.clock)
        output.append(little: UInt64(0))
        unsafe output.append(old.keyBytes)
        unsafe output.append(UInt8(old.authorBytes.count))
        unsafe output.append(old.authorBytes)
        if unsafe old.contextBytes.count > 0 {
            unsafe output.append(little: UInt16(old.contextBytes.count))
            unsafe output.append(old.contextBytes)
        }
        if let conflict = unsafe old.conflictBytes {
            output.append(little: UInt32(conflict.count))
            unsafe output.append(conflict)
        }
    }

    /// Appends the checksum.
    package static func end(sequence: UInt64, into output: inout ByteBuffer) {
        let checksum = unsafe UInt32(
            truncatingIfNeeded: Checksum.xxh64(output.bytes, seed: sequence))
        output.append(little: checksum)
    }

    /// Appends a text of at most 255 bytes after its length; the callers have checked it.
    private static func appendShort(_ text: String, to output: inout ByteBuffer) {
        let count = text.utf8.count
        precondition(count <= 255, "An author or change tag is too long.")
        output.append(UInt8(count))
        output.append(utf8: text)
    }

    /// The most bytes of a context.
    package static let contextByteCountMax = 4096

    private static func appendContext(_ text: String, to output: inout ByteBuffer) {
        let count = text.utf8.count
        precondition(count <= contextByteCountMax, "A context is too long.")
        output.append(little: UInt16(count))
        output.append(utf8: text)
    }
}
