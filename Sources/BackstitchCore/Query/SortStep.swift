/// One of the keys that an answer is sorted by: an attribute by name, or the record key.
package struct SortStep: Hashable, Sendable {
    /// The attribute's name; nil for the record key.
    package let attribute: String?
    package let isReversed: Bool

    package init(_ attribute: String?, isReversed: Bool = false) {
        self.attribute = attribute
        self.isReversed = isReversed
    }
}
