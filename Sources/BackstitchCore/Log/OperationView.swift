import XXHash

/// A stored operation, read in place. Valid as long as its bytes are.
@safe
package struct OperationView {
    package let sequence: UInt64
    package let kind: OperationKind
    package let origin: OperationOrigin
    package let flags: OperationHeader.Flags
    package let entity: EntityNumber
    package let transaction: UInt64
    package let clock: UInt64
    package let previous: UInt64
    /// The stored form of the record key.
    package let keyBytes: UnsafeRawBufferPointer
    let authorBytes: UnsafeRawBufferPointer
    let contextBytes: UnsafeRawBufferPointer
    private let tagBytes: UnsafeRawBufferPointer
    private let modifiedMilliseconds: Int64
    private let acknowledgedThrough: UInt64
    package let conflictBytes: UnsafeRawBufferPointer?
    private let beforeBytes: UnsafeRawBufferPointer
    private let payload: UnsafeRawBufferPointer

    /// Reads the operation at a sequence.
    ///
    /// - Parameter verifies: Whether the checksum is compared, which costs some 30 ns.
    /// - Throws: what is wrong with the bytes.
    package init(
        _ bytes: UnsafeRawBufferPointer, sequence: UInt64, verifies: Bool = true
    ) throws(OperationDamage) {
        let end = bytes.count - OperationEncoder.checksumByteCount
        guard end > OperationEncoder.fixedByteCount + 3 else { throw .truncated }
        guard unsafe bytes[0] == OperationEncoder.formatVersion else {
            throw unsafe .newerFormat(bytes[0])
        }
        if verifies {
            let stored = unsafe bytes.little(UInt32.self, at: end)
            let computed = unsafe Checksum.xxh64(bytes.part(0..<end), seed: sequence)
            guard stored == UInt32(truncatingIfNeeded: computed) else { throw .checksum }
        }
        guard let kind = unsafe OperationKind(rawValue: bytes[1]),
            let origin = unsafe OperationOrigin(rawValue: bytes[2])
        else { throw .unknownKind }
        self.sequence = sequence
        self.kind = kind
        self.origin = origin
        flags = unsafe OperationHeader.Flags(rawValue: bytes[3])
        entity = unsafe EntityNumber(bytes.little(UInt16.self, at: 4))
        transaction = unsafe bytes.little(UInt64.self, at: 8)
        clock = unsafe bytes.little(UInt64.self, at: 16)
        previous = unsafe bytes.little(UInt64.self, at: 24)
        var scanner = unsafe ByteScanner(bytes, from: OperationEncoder.fixedByteCount, to: end)
        unsafe keyBytes = try scanner.key()
        unsafe authorBytes = try scanner.short()
        if flags.contains(.hasContext) {
            unsafe contextBytes = try scanner.take(Int(scanner.integer(UInt16.self)))
        } else {
            unsafe contextBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if flags.contains(.hasStamp) {
            unsafe tagBytes = try scanner.short()
            modifiedMilliseconds = Int64(bitPattern: try scanner.integer(UInt64.self))
            acknowledgedThrough = try scanner.integer(UInt64.self)
        } else {
            unsafe tagBytes = UnsafeRawBufferPointer(start: nil, count: 0)
            modifiedMilliseconds = 0
            acknowledgedThrough = 0
        }
        if flags.contains(.hasConflict) {
            unsafe conflictBytes = try scanner.take(Int(scanner.integer(UInt32.self)))
        } else {
            unsafe conflictBytes = nil
        }
        if kind == .update {
            unsafe beforeBytes = try scanner.take(Int(scanner.integer(UInt32.self)))
        } else {
            unsafe beforeBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        }
        unsafe payload = scanner.rest
    }

    package var key: RecordKey {
        get throws(OperationDamage) {
            guard let key = unsafe RecordKey(reading: keyBytes) else { throw .truncated }
            return key
        }
    }

    /// The slot of the record's zone.
    package var zone: UInt8 { unsafe keyBytes[0] }

    package var author: String { unsafe String(decoding: authorBytes, as: UTF8.self) }

    /// What the transaction was for; empty for all but its first operation.
    package var context: String { unsafe String(decoding: contextBytes, as: UTF8.self) }

    /// What the service said, for operations that come from it.
    package var stamp: SyncStamp? {
        guard flags.contains(.hasStamp) else { return nil }
        return unsafe SyncStamp(
            changeTag: String(decoding: tagBytes, as: UTF8.self),
            modifiedMilliseconds: modifiedMilliseconds, acknowledgedThrough: acknowledgedThrough)
    }

    /// The packed fields after the operation: all for an insert or a baseline, the changed ones for an
    /// update.
    package var after: PackedFields {
        get throws(OperationDamage) {
            let bytes = unsafe kind == .baseline ? baseline?.row.bodyBytes : payload
            guard kind != .delete, let bytes = unsafe bytes, let fields = unsafe PackedFields(bytes)
            else {
                throw .truncated
            }
            return fields
        }
    }

    /// The payload: the packed fields after an insert, which become the body of the row, or the reason of
    /// a park.
    package var afterBytes: UnsafeRawBufferPointer { unsafe payload }

    /// The packed fields before the operation: the changed ones for an update, all for a delete.
    package var before: PackedFields {
        get throws(OperationDamage) {
            guard let fields = unsafe PackedFields(kind == .delete ? payload : beforeBytes) else {
                throw .truncated
            }
            return fields
        }
    }

    /// What a baseline carries; nil if it can't be read.
    package var baseline: BaselineView? { unsafe BaselineView(payload) }

    /// Whether it is the baseline of a record whose end the service did not know then: it stands for
    /// no fields.
    package var isTombstone: Bool { kind == .baseline && baseline?.row.isDeleted == true }

    /// Why the record was parked.
    package var parkReason: String { unsafe String(decoding: payload, as: UTF8.self) }
}

/// What is wrong with a stored operation.
package enum OperationDamage: Error, Hashable, Sendable {
    case truncated
    case checksum
    case unknownKind
    case newerFormat(UInt8)
    case fields
}

extension OperationDamage: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "its bytes end too early"
        case .checksum: "its checksum does not match"
        case .unknownKind: "its kind or origin is unknown"
        case .newerFormat(let version): "it has format version \(version), which is not known here"
        case .fields: "its fields are damaged"
        }
    }
}

/// Walks over the variable parts of a stored operation.
@safe
struct ByteScanner {
    private let bytes: UnsafeRawBufferPointer
    private var offset: Int
    private let end: Int

    init(_ bytes: UnsafeRawBufferPointer, from offset: Int, to end: Int) {
        unsafe self.bytes = bytes
        self.offset = offset
        self.end = end
    }

    mutating func take(_ count: Int) throws(OperationDamage) -> UnsafeRawBufferPointer {
        guard count >= 0, offset + count <= end else { throw .truncated }
        defer { offset += count }
        return unsafe bytes.part(offset..<(offset + count))
    }

    mutating func integer<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type
    ) throws(OperationDamage) -> Number {
        let part = try unsafe take(MemoryLayout<Number>.size)
        return unsafe part.little(type, at: 0)
    }

    /// Bytes after a length byte.
    mutating func short() throws(OperationDamage) -> UnsafeRawBufferPointer {
        let count = try unsafe take(1)
        return try unsafe take(Int(count[0]))
    }

    mutating func key() throws(OperationDamage) -> UnsafeRawBufferPointer {
        guard offset + 3 <= end else { throw .truncated }
        switch unsafe bytes[offset + 1] {
        case 0: return try unsafe take(18)
        case 1: return try unsafe take(3 + Int(bytes[offset + 2]))
        default: throw .truncated
        }
    }

    var rest: UnsafeRawBufferPointer { unsafe bytes.part(offset..<end) }
}
