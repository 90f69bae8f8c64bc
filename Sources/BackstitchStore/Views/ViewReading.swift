import BackstitchCore
import BackstitchLog

/// Where a view is read from; made by the store only.
public struct _ViewSource {
    package let entries: ViewEntries
    let catalog: CatalogSnapshot
}

/// Reads an ordered map of keys and values: the view of a projection.
public protocol ViewReading: ~Copyable {
    /// Where the view is read from.
    var source: _ViewSource { get }
}

extension ViewReading where Self: ~Copyable {
    /// The value of a key; nil if it is not there.
    public func value(for key: ViewKey) throws -> [UInt8]? {
        try unsafe source.entries.get(key.bytes).map { unsafe Array($0) }
    }

    /// The integer of a key, as `ViewEditor.add` keeps it; nil if the key is not there.
    ///
    /// - Throws: `invalidProjection` if the value is no integer.
    public func integer(for key: ViewKey) throws -> Int64? {
        guard let bytes = try unsafe source.entries.get(key.bytes) else { return nil }
        guard bytes.count == 8 else {
            throw StoreError(
                .invalidProjection, "A value that is read as an integer has another type.")
        }
        return unsafe bytes.little(Int64.self, at: 0)
    }

    /// Visits the entries whose keys start with a prefix, in the order of the keys.
    ///
    /// - Parameters:
    ///   - prefix: What the keys start with; no bytes for all entries.
    ///   - reversed: Whether to begin at the last key.
    ///   - body: Gets key and value; returns whether to go on.
    public func forEach(
        startingWith prefix: ViewKey = ViewKey(bytes: []), reversed: Bool = false,
        _ body: (_ key: ViewKey, _ value: [UInt8]) throws -> Bool
    ) throws {
        try unsafe source.entries.visit(
            from: prefix.bytes, to: prefix.end, reversed: reversed
        ) { try unsafe body(ViewKey(bytes: Array($0)), Array($1)) }
    }

    /// Visits the entries whose keys are in a range, in the order of the keys.
    ///
    /// - Parameters:
    ///   - range: The first key, and the one to stop before.
    ///   - reversed: Whether to begin at the last key.
    ///   - body: Gets key and value; returns whether to go on.
    public func forEach(
        in range: Range<ViewKey>, reversed: Bool = false,
        _ body: (_ key: ViewKey, _ value: [UInt8]) throws -> Bool
    ) throws {
        try unsafe source.entries.visit(
            from: range.lowerBound.bytes, to: range.upperBound.bytes, reversed: reversed
        ) { try unsafe body(ViewKey(bytes: Array($0)), Array($1)) }
    }

    /// The number of entries whose keys start with a prefix; reads them all.
    public func count(startingWith prefix: ViewKey = ViewKey(bytes: [])) throws -> Int {
        var count = 0
        try unsafe source.entries.visit(from: prefix.bytes, to: prefix.end) { _, _ in
            count += 1
            return true
        }
        return count
    }
}

extension ViewKey {
    /// The bound after all keys that start with this one; nil if that is the end of the view.
    package var end: [UInt8]? {
        var bytes = bytes
        while let last = bytes.popLast() {
            if last < .max { return bytes + [last + 1] }
        }
        return nil
    }
}
