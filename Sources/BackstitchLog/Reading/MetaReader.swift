import BackstitchCore
package import LMDB

/// Reads the meta database within one transaction, whose lifetime it must not outlive.
package struct MetaReader {
    package let access: Access
    package let database: Database

    package init(access: Access, database: Database) {
        self.access = access
        self.database = database
    }

    /// A value by its name; nil if there is none.
    package func value(_ name: String) throws -> [UInt8]? {
        try unsafe Array(name.utf8).withUnsafeBytes { key in
            try unsafe access.get(key, in: database).map { unsafe Array($0) }
        }
    }

    /// Visits the entries whose names begin with a prefix, with what follows it, in the order of the
    /// names, until the closure returns false.
    package func visit(
        _ prefix: String, _ visit: (String, [UInt8]) throws -> Bool
    ) throws {
        try unsafe Array(prefix.utf8).withUnsafeBytes { prefix in
            try access.withCursor(in: database) { cursor in
                var isThere = try unsafe cursor.seek(atOrAfter: prefix)
                while isThere, unsafe cursor.key.begins(with: prefix) {
                    let name = unsafe cursor.key.part(prefix.count..<cursor.key.count)
                    guard
                        try unsafe visit(String(decoding: name, as: UTF8.self), Array(cursor.value))
                    else { return }
                    isThere = try cursor.next()
                }
            }
        }
    }
}
