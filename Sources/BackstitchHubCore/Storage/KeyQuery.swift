/// What a transaction is going to read.
///
/// A storage that is far away fetches what it was told in one round trip; what it was not told costs
/// one each (``HubReading/expect(_:)``).
package enum KeyQuery: Hashable, Sendable {
    /// The value of a key.
    case key(HubKey)
    /// Entries under a prefix.
    case entries(Range)
    /// Entries under a prefix, and the entries that they name under another one.
    case named(by: Range, Name, under: HubKey)

    /// Entries whose keys start with a prefix.
    package struct Range: Hashable, Sendable {
        package let prefix: HubKey
        /// The key to begin at, inside of the prefix; nil for the beginning. If the entries come in
        /// reverse, the key to begin before; nil for the end.
        package let bound: HubKey?
        /// The most entries.
        package let countMax: Int
        /// Whether the last entries are meant, in reverse order.
        package var isReverse = false
    }

    /// What of an entry is the name of another one.
    package enum Name: Hashable, Sendable {
        case value
        /// What its key has behind the prefix.
        case key
    }

    /// The first entries under a prefix.
    static func first(_ count: Int, of prefix: HubKey, from start: HubKey? = nil) -> KeyQuery {
        .entries(Range(prefix: prefix, bound: start, countMax: count))
    }

    /// The first entries under a prefix, and those that they name.
    static func first(
        _ count: Int, of prefix: HubKey, from start: HubKey? = nil, naming name: Name = .value,
        under names: HubKey
    ) -> KeyQuery {
        .named(by: Range(prefix: prefix, bound: start, countMax: count), name, under: names)
    }

    /// How many entries of a long range are told at a time.
    static let entriesPerPart = 1_000

    /// A part of a long range; the parameters are those of ``HubReading/scanInParts``.
    static func part(
        of prefix: HubKey, from start: HubKey?, countMax: Int, namesUnder names: HubKey?
    ) -> KeyQuery {
        let count = min(countMax, entriesPerPart)
        guard let names else { return .first(count, of: prefix, from: start) }
        return .first(count, of: prefix, from: start, naming: .key, under: names)
    }

    /// The last entries under a prefix, and those that their values name.
    static func last(
        _ count: Int, of prefix: HubKey, before end: HubKey, namesUnder names: HubKey
    ) -> KeyQuery {
        let range = Range(prefix: prefix, bound: end, countMax: count, isReverse: true)
        return .named(by: range, .value, under: names)
    }
}

extension HubReading {
    /// As ``scan(_:from:_:)``, for a range that may be long: each thousand of its entries is told
    /// before it is read.
    ///
    /// - Parameters:
    ///   - countMax: How many entries are enough, if that is known.
    ///   - names: The prefix of the entries that the keys name; nil if they name none.
    func scanInParts(
        _ prefix: HubKey, from start: HubKey? = nil, countMax: Int = .max,
        namesUnder names: HubKey? = nil,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        guard isFar else { return try unsafe scan(prefix, from: start, body) }
        let count = min(countMax, KeyQuery.entriesPerPart)
        var next = start
        var goesOn = true
        while goesOn {
            expect { [.part(of: prefix, from: next, countMax: countMax, namesUnder: names)] }
            var visited = 0
            goesOn = false
            try unsafe scan(prefix, from: next) { key, value in
                visited += 1
                guard try unsafe body(key, value) else { return false }
                guard visited == count else { return true }
                next = unsafe HubKey(bytes: key).adding([0])
                goesOn = true
                return false
            }
        }
    }
}
