import BackstitchCore
import LMDB

/// The entries of one view within a transaction: an ordered map under a prefix of the meta database.
///
/// | key | value |
/// |---|---|
/// | `FE`, slot (2, big-endian), the view's key | the view's value |
package struct ViewEntries {
    static let prefixByte: UInt8 = 0xFE
    static let prefixByteCount = 3

    /// Whether a key of the meta database is of an entry of a view.
    package static func isEntry(_ key: UnsafeRawBufferPointer) -> Bool {
        unsafe key.first == prefixByte
    }

    let access: Access
    let database: Database
    let slot: UInt16
    /// What is laid over the stored entries and takes all writes; nil if these change themselves.
    var overlay: ViewOverlay?

    // MARK: Reading

    /// The value of a key, valid until the transaction writes.
    package func get(_ key: [UInt8]) throws -> UnsafeRawBufferPointer? {
        guard key.count <= ViewKey.byteCountMax else { return nil }
        if case .some(let value) = unsafe overlay?.value(for: key) { return unsafe value }
        return try unsafe withStored(key) { try unsafe access.get($0, in: database) }
    }

    /// Visits entries in the order of their keys, or in the reverse order.
    ///
    /// - Parameters:
    ///   - lower: The first key, if it is there.
    ///   - upper: The key to stop before; nil for the end of the view.
    ///   - visit: Gets key and value, valid until the transaction writes; returns whether to go on.
    package func visit(
        from lower: [UInt8], to upper: [UInt8]?, reversed: Bool = false,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        guard let overlay else {
            return try unsafe visitStored(from: lower, to: upper, reversed: reversed, visit)
        }
        try unsafe self.visit(with: overlay, from: lower, to: upper, reversed: reversed, visit)
    }

    func visitStored(
        from lower: [UInt8], to upper: [UInt8]?, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let start = bound(lower)
        let end = upper.map { bound($0) } ?? boundOfView
        try access.withCursor(in: database) { cursor in
            var isThere = try reversed ? cursor.seekLast(before: end) : cursor.seek(from: start)
            while isThere {
                let passed =
                    unsafe reversed
                    ? start.withUnsafeBytes { unsafe cursor.key.order($0) < 0 }
                    : unsafe end.withUnsafeBytes { unsafe cursor.key.order($0) >= 0 }
                if passed { return }
                let key = unsafe cursor.key.part(Self.prefixByteCount..<cursor.key.count)
                guard try unsafe visit(key, cursor.value) else { return }
                isThere = try reversed ? cursor.previous() : cursor.next()
            }
        }
    }

    /// The number of entries; visits them all.
    package var count: Int {
        get throws {
            var count = 0
            try unsafe visit(from: [], to: nil) { _, _ in
                count += 1
                return true
            }
            return count
        }
    }

    // MARK: Writing

    func put(_ value: UnsafeRawBufferPointer, for key: [UInt8]) throws {
        if let overlay { return unsafe overlay.set(value, for: key) }
        try unsafe withStored(key) { try unsafe access.put($0, value, in: database) }
    }

    func delete(_ key: [UInt8]) throws {
        if let overlay { return unsafe overlay.set(nil, for: key) }
        _ = try unsafe withStored(key) { try unsafe access.delete($0, in: database) }
    }

    /// Deletes the first entries, as many as a limit allows.
    ///
    /// - Returns: whether none is left.
    func clear(limit: Int) throws -> Bool {
        try access.withCursor(in: database) { cursor in
            let prefix = prefix
            var isThere = try unsafe prefix.withUnsafeBytes {
                try unsafe cursor.seek(atOrAfter: $0)
            }
            var left = limit
            while isThere, unsafe prefix.withUnsafeBytes({ unsafe cursor.key.starts(with: $0) }) {
                guard left > 0 else { return false }
                left -= 1
                try cursor.delete()
                isThere = try cursor.next()
            }
            return true
        }
    }

    // MARK: Stored keys

    private func withStored<Result>(
        _ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe withUnsafeTemporaryAllocation(
            byteCount: Self.prefixByteCount + ViewKey.byteCountMax, alignment: 8
        ) { buffer in
            precondition(key.count <= ViewKey.byteCountMax, "A key of a view is too long.")
            unsafe buffer[0] = Self.prefixByte
            unsafe buffer[1] = UInt8(slot >> 8)
            unsafe buffer[2] = UInt8(truncatingIfNeeded: slot)
            let count = Self.prefixByteCount + key.count
            unsafe key.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[Self.prefixByteCount...])
                    .copyMemory(from: $0)
            }
            return try unsafe body(UnsafeRawBufferPointer(buffer).part(0..<count))
        }
    }

    /// What all keys of the view begin with.
    var prefix: [UInt8] {
        [Self.prefixByte, UInt8(slot >> 8), UInt8(truncatingIfNeeded: slot)]
    }

    private func bound(_ key: [UInt8]) -> [UInt8] { prefix + key }

    /// The bound after all keys of the view.
    private var boundOfView: [UInt8] {
        slot < .max
            ? [Self.prefixByte, UInt8((slot + 1) >> 8), UInt8(truncatingIfNeeded: slot + 1)]
            : [Self.prefixByte + 1]
    }
}

extension Cursor {
    /// The most bytes of a key of LMDB; a bound may be longer.
    private static let keyByteCountMax = ViewEntries.prefixByteCount + ViewKey.byteCountMax

    /// Goes to the first key at or after a bound.
    fileprivate mutating func seek(from bound: [UInt8]) throws -> Bool {
        let cut = Array(bound.prefix(Self.keyByteCountMax))
        var isThere = try unsafe cut.withUnsafeBytes { try unsafe seek(atOrAfter: $0) }
        // The key that the cut bound spells is in front of the whole one.
        while isThere, unsafe bound.withUnsafeBytes({ unsafe key.order($0) < 0 }) {
            isThere = try next()
        }
        return isThere
    }

    /// Goes to the last key before a bound.
    fileprivate mutating func seekLast(before bound: [UInt8]) throws -> Bool {
        _ = try seek(from: bound)
        return try previous()
    }
}
