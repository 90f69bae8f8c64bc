/// The size and shape of one database, as its transaction sees it.
package struct Statistics: Sendable, Hashable {
    /// The number of entries.
    package let entries: Int
    /// The height of the tree; 0 if it is empty.
    package let depth: Int
    /// The number of inner pages.
    package let branchPages: Int
    /// The number of leaf pages.
    package let leafPages: Int
    /// The number of pages that hold large values.
    package let overflowPages: Int
}

extension Statistics {
    /// The bytes of keys and values of a database that wait in a journal.
    ///
    /// - Complexity: O(*n*) in the changes that wait.
    package static func waitingBytes(of database: Database, in access: Access) -> Int {
        access.overlay?.pointee.run(of: database.number).byteCount ?? 0
    }
}
