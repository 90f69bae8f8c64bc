public import Foundation

/// The key of a record in a store: the slot of its zone and its name.
///
/// Stored form: zone slot (1 byte), kind (1 byte: 0 UUID, 1 text), then 16 bytes of UUID, or a
/// length byte and the UTF-8 text.
public struct RecordKey: Hashable, Sendable {
    /// The slot of the record's zone; 0 is the store's own zone.
    @usableFromInline
    package let zone: UInt8
    /// The record's name on the service.
    @usableFromInline
    package let name: RecordName

    /// The most bytes a stored key takes.
    @inlinable package static var byteCountMax: Int { 3 + RecordName.byteCountMax }

    /// The key of the record with this name, in the store's own zone unless another is given.
    public init(_ name: String, zone: RecordID.Zone = .own) {
        self.init(RecordName(name), zone: zone.slot)
    }

    /// The key that no other one of a zone comes before.
    package static func first(in slot: UInt8) -> RecordKey {
        RecordKey(.uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))), zone: slot)
    }

    /// The key of a record, as a reference to it is stored.
    public init(_ record: RecordID) { self = record.key }

    @inlinable
    package init(_ name: RecordName, zone: UInt8 = 0) {
        self.zone = zone
        self.name = name
    }

    /// The identity of the record, if it is of this entity.
    public func recordID(of entity: String) -> RecordID { RecordID(entity: entity, key: self) }

    /// The bytes that the stored form takes.
    @inlinable
    package var byteCount: Int {
        switch name {
        case .uuid: 18
        case .text(let text): 3 + min(text.utf8.count, RecordName.byteCountMax)
        }
    }

    /// Writes the stored form to `target` and returns the number of bytes.
    ///
    /// `target` has room for ``byteCount`` bytes. A name longer than 255 bytes can't be saved; its
    /// form is cut and ends with a byte that no text has, so that it is found nowhere.
    @inlinable
    package func write(to target: UnsafeMutableRawPointer) -> Int {
        unsafe target.storeBytes(of: zone, as: UInt8.self)
        switch name {
        case .uuid(let uuid):
            unsafe target.storeBytes(of: 0, toByteOffset: 1, as: UInt8.self)
            unsafe target.storeBytes(of: uuid.uuid, toByteOffset: 2, as: uuid_t.self)
            return 18
        case .text(var text):
            unsafe target.storeBytes(of: 1, toByteOffset: 1, as: UInt8.self)
            return text.withUTF8 { bytes in
                let count = min(bytes.count, RecordName.byteCountMax)
                unsafe target.storeBytes(of: UInt8(count), toByteOffset: 2, as: UInt8.self)
                if let base = bytes.baseAddress {
                    unsafe (target + 3).copyMemory(from: base, byteCount: count)
                }
                if count < bytes.count {
                    unsafe target.storeBytes(of: 0xFF, toByteOffset: 2 + count, as: UInt8.self)
                }
                return 3 + count
            }
        }
    }

    /// Reads a stored key from the start of bytes; nil if they hold none.
    package init?(reading bytes: ArraySlice<UInt8>) {
        guard let key = unsafe bytes.withUnsafeBytes({ unsafe RecordKey(reading: $0) }) else {
            return nil
        }
        self = key
    }

    /// Reads a stored key from the start of `bytes`; nil if they hold none.
    @inlinable
    package init?(reading bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 3 else { return nil }
        let zone = unsafe bytes[0]
        switch unsafe bytes[1] {
        case 0:
            guard bytes.count >= 18 else { return nil }
            let uuid = unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UUID.self)
            self.init(.uuid(uuid), zone: zone)
        case 1:
            let count = unsafe Int(bytes[2])
            guard bytes.count >= 3 + count else { return nil }
            guard let text = unsafe String(utf8: bytes.part(3..<(3 + count))) else { return nil }
            self.init(.text(text), zone: zone)
        default:
            return nil
        }
    }

    /// Calls a closure with the stored form.
    @inlinable @inline(__always)
    package func withStored<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe withUnsafeTemporaryAllocation(byteCount: Self.byteCountMax, alignment: 8) {
            buffer in
            guard let base = buffer.baseAddress else {
                preconditionFailure("A temporary allocation has no address.")
            }
            return try unsafe body(UnsafeRawBufferPointer(start: base, count: write(to: base)))
        }
    }

    /// The stored form as an array, for keys that outlive a buffer.
    package var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            count = unsafe write(to: UnsafeMutableRawPointer(base))
        }
    }
}

extension RecordKey: Comparable {
    /// Orders keys as their stored bytes.
    public static func < (left: RecordKey, right: RecordKey) -> Bool {
        guard left.zone == right.zone else { return left.zone < right.zone }
        switch (left.name, right.name) {
        case (.uuid(let left), .uuid(let right)):
            return unsafe withUnsafeBytes(of: left.uuid) { left in
                unsafe withUnsafeBytes(of: right.uuid) { unsafe left.lexicographicallyPrecedes($0) }
            }
        case (.uuid, .text): return true
        case (.text, .uuid): return false
        case (.text(let left), .text(let right)):
            // The length byte comes first.
            let counts = (left.utf8.count, right.utf8.count)
            guard counts.0 == counts.1 else { return counts.0 < counts.1 }
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        }
    }
}

extension RecordKey: CustomStringConvertible {
    /// The record name, with the zone slot in front if it is not the store's own.
    public var description: String {
        zone == 0 ? name.description : "\(zone)/\(name)"
    }
}

extension ByteBuffer {
    @inlinable
    package mutating func append(_ key: RecordKey) {
        let start = unsafe extend(by: key.byteCount)
        _ = unsafe key.write(to: start)
    }
}
