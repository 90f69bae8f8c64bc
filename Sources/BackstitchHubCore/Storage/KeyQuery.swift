/// What a transaction is going to read.
///
/// A storage that is far away fetches what it was told in one round trip; what it was not told costs
/// one each (``HubReading/expect(_:)``).
package enum KeyQuery: Hashable, Sendable {
    /// The value of a key.
    case key(HubKey)
    /// The first entries under a prefix, so many at most.
    case entries(Range)
    /// The first entries under a prefix, and the entries that their values name under another one.
    case named(by: Range, under: HubKey)

    /// The first entries whose keys start with a prefix.
    package struct Range: Hashable, Sendable {
        package let prefix: HubKey
        /// Where to begin, inside of the prefix; nil for its beginning.
        package let start: HubKey?
        /// The most entries.
        package let countMax: Int
    }

    /// The first entries under a prefix.
    static func first(_ count: Int, of prefix: HubKey, from start: HubKey? = nil) -> KeyQuery {
        .entries(Range(prefix: prefix, start: start, countMax: count))
    }

    /// The first entries under a prefix, and those that their values name.
    static func first(
        _ count: Int, of prefix: HubKey, from start: HubKey? = nil, namesUnder names: HubKey
    ) -> KeyQuery {
        .named(by: Range(prefix: prefix, start: start, countMax: count), under: names)
    }
}
