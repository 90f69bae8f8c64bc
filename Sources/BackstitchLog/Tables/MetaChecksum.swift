import BackstitchCore
package import LMDB
import XXHash

/// The checksum of a value of the meta database: 8 bytes, little-endian, under the value's name with a
/// prefix. Marks of a full fetch have none.
package enum MetaChecksum {
    package static let prefix = "sum."

    package static func name(of name: String) -> String { prefix + name }

    package static func bytes(of value: [UInt8], named name: String) -> [UInt8] {
        Checksum.xxh64(value, seed: Checksum.xxh64(name)).littleEndianBytes
    }

    /// Whether a value is as it was written.
    ///
    /// - Parameter checksum: The stored checksum. If it is missing (nil), no value matches.
    package static func matches(_ value: [UInt8], named name: String, _ checksum: [UInt8]?) -> Bool
    {
        checksum == bytes(of: value, named: name)
    }

    /// Deletes the values of the meta database whose names begin with a prefix, and their checksums.
    static func deleteValues(
        from prefix: String, _ access: Access, _ databases: Databases
    ) throws {
        for prefix in [prefix, name(of: prefix)] {
            try unsafe Array(prefix.utf8).withUnsafeBytes { prefix in
                try access.withCursor(in: databases.meta) { cursor in
                    var isThere = try unsafe cursor.seek(atOrAfter: prefix)
                    while isThere, unsafe cursor.key.begins(with: prefix) {
                        try cursor.delete()
                        isThere = try cursor.next()
                    }
                }
            }
        }
    }
}

extension Access {
    /// Puts a value of the meta database with its checksum; the catalog twice, because without it
    /// nothing could be salvaged.
    package func putMeta(_ name: String, _ value: [UInt8], _ databases: Databases) throws {
        func put(_ name: String, _ value: [UInt8]) throws {
            try unsafe Array(name.utf8).withUnsafeBytes { key in
                try unsafe value.withUnsafeBytes {
                    try unsafe self.put(key, $0, in: databases.meta)
                }
            }
        }
        try put(name, value)
        if SyncNotes.isMark(name) { return }
        try put(MetaChecksum.name(of: name), MetaChecksum.bytes(of: value, named: name))
        if name == MetaName.catalog { try putMeta(MetaName.catalogCopy, value, databases) }
    }

    /// Deletes a value of the meta database with its checksum.
    package func deleteMeta(_ name: String, _ databases: Databases) throws {
        for name in [name, MetaChecksum.name(of: name)] {
            _ = try unsafe Array(name.utf8).withUnsafeBytes {
                try unsafe delete($0, in: databases.meta)
            }
        }
    }
}
