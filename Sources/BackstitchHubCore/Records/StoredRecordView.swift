import BackstitchCore
import XXHash

/// A stored record, read where it lies: nothing is copied, so that it is good for as long as its bytes
/// are. See ``StoredRecord`` for the layout.
@safe struct StoredRecordView {
    private static let headerBytes = 26
    private static let checksumBytes = 8

    let isDeleted: Bool
    let hasAssets: Bool
    let hasLinks: Bool
    let sequence: UInt64
    let created: Int64
    let modified: Int64
    let recordType: UnsafeRawBufferPointer
    let changeTag: UnsafeRawBufferPointer
    let createdBy: UnsafeRawBufferPointer
    let modifiedBy: UnsafeRawBufferPointer
    let parent: UnsafeRawBufferPointer
    let fieldsJSON: UnsafeRawBufferPointer

    /// Reads the bytes of a stored record, whose checksum has to be right.
    init(_ stored: UnsafeRawBufferPointer) throws(HubError) {
        let end = stored.count - Self.checksumBytes
        guard end >= Self.headerBytes, unsafe stored[0] == StoredRecord.version,
            unsafe Checksum.xxh64(stored.part(0..<end)) == stored.little(UInt64.self, at: end)
        else { throw Self.damage }
        isDeleted = unsafe stored[1] & 1 != 0
        hasAssets = unsafe stored[1] & 2 != 0
        hasLinks = unsafe stored[1] & 4 != 0
        sequence = unsafe stored.little(UInt64.self, at: 2)
        created = unsafe stored.little(Int64.self, at: 10)
        modified = unsafe stored.little(Int64.self, at: 18)
        var offset = Self.headerBytes
        func text() throws(HubError) -> UnsafeRawBufferPointer {
            guard offset < end, unsafe offset + 1 + Int(stored[offset]) <= end else {
                throw Self.damage
            }
            let start = offset + 1
            offset = unsafe start + Int(stored[offset])
            return unsafe stored.part(start..<offset)
        }
        unsafe recordType = try unsafe text()
        unsafe changeTag = try unsafe text()
        unsafe createdBy = try unsafe text()
        unsafe modifiedBy = try unsafe text()
        unsafe parent = try unsafe text()
        unsafe fieldsJSON = unsafe stored.part(offset..<end)
    }

    static var damage: HubError {
        HubError(.damaged, "The hub's data is damaged: a record can't be read. Restore a backup.")
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes as text.
    var text: String { unsafe String(decoding: self, as: UTF8.self) }
}
