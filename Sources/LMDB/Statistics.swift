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
