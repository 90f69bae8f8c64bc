import BackstitchCore
import XXHash

/// A stored record, read where it lies: nothing is copied, so that it is good for as long as its bytes
/// are. See ``StoredRecord`` for the layout.
struct StoredRecordView {
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
        guard end >= Self.headerBytes, stored[0] == StoredRecord.version,
            Checksum.xxh64(stored.part(0..<end)) == stored.little(UInt64.self, at: end)
        else { throw Self.damage }
        isDeleted = stored[1] & 1 != 0
        hasAssets = stored[1] & 2 != 0
        hasLinks = stored[1] & 4 != 0
        sequence = stored.little(UInt64.self, at: 2)
        created = stored.little(Int64.self, at: 10)
        modified = stored.little(Int64.self, at: 18)
        var offset = Self.headerBytes
        func text() throws(HubError) -> UnsafeRawBufferPointer {
            guard offset < end, offset + 1 + Int(stored[offset]) <= end else { throw Self.damage }
            let start = offset + 1
            offset = start + Int(stored[offset])
            return stored.part(start..<offset)
        }
        recordType = try text()
        changeTag = try text()
        createdBy = try text()
        modifiedBy = try text()
        parent = try text()
        fieldsJSON = stored.part(offset..<end)
    }

    static var damage: HubError {
        HubError(.damaged, "The hub's data is damaged: a record can't be read. Restore a backup.")
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes as text.
    var text: String { String(decoding: self, as: UTF8.self) }
}
