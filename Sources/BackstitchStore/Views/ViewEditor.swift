import BackstitchCore
import BackstitchLog
import LMDB

/// The view of a projection while a change is taken into it. Valid inside `apply` only.
///
/// It reads what was put. What is the same already is not written again.
public struct ViewEditor: ~Copyable {
    /// The most bytes of a value: 16 MiB.
    public static let valueByteCountMax = 16 << 20

    let entries: ViewEntries
    private let undone: ViewUndo
    private let catalog: CatalogSnapshot

    init(_ entries: ViewEntries, _ undone: ViewUndo, _ catalog: CatalogSnapshot) {
        self.entries = entries
        self.undone = undone
        self.catalog = catalog
    }

    /// Sets the value of a key, new or not.
    ///
    /// - Throws: `invalidProjection` if the key or the value is too long.
    public func put(_ value: [UInt8], for key: ViewKey) throws {
        guard key.bytes.count <= ViewKey.byteCountMax, value.count <= Self.valueByteCountMax else {
            throw StoreError(
                .invalidProjection,
                "A key of a view has \(ViewKey.byteCountMax) bytes at most and a value "
                    + "\(Self.valueByteCountMax); these have \(key.bytes.count) and \(value.count). "
                    + "Shorten them.")
        }
        let old = try unsafe entries.get(key.bytes)
        if let old = unsafe old, unsafe value.withUnsafeBytes({ unsafe old.holdsSameBytes(as: $0) })
        {
            return
        }
        unsafe undone.note(key.bytes, old.map { unsafe Array($0) })
        try unsafe value.withUnsafeBytes { try unsafe entries.put($0, for: key.bytes) }
    }

    /// Deletes a key; does nothing if it is not there.
    public func delete(_ key: ViewKey) throws {
        guard let old = try unsafe entries.get(key.bytes) else { return }
        unsafe undone.note(key.bytes, Array(old))
        try entries.delete(key.bytes)
    }

    /// Adds to the integer of a key, which is 0 if the key is not there; at 0 the key goes.
    ///
    /// - Returns: the integer after it.
    /// - Throws: `invalidProjection` if the sum leaves 64 bits, or the value is no integer.
    @discardableResult
    public func add(_ number: Int64, to key: ViewKey) throws -> Int64 {
        let (sum, overflow) = try (integer(for: key) ?? 0).addingReportingOverflow(number)
        guard !overflow else {
            throw StoreError(
                .invalidProjection, "An integer of a view leaves 64 bits. Count something smaller.")
        }
        if sum == 0 {
            try delete(key)
        } else {
            try put(sum.littleEndianBytes, for: key)
        }
        return sum
    }
}

extension ViewEditor: ViewReading {
    /// The entries.
    public var source: _ViewSource { _ViewSource(entries: entries, catalog: catalog) }
}

/// What a change wrote into a view, so that it can be taken back.
final class ViewUndo {
    private var old: [(key: [UInt8], value: [UInt8]?)] = []

    /// Notes the value that a key had before a write; nil if it was not there.
    func note(_ key: [UInt8], _ value: [UInt8]?) { old.append((key, value)) }

    /// Forgets what was noted, because it stays.
    func forget() { old.removeAll(keepingCapacity: true) }

    /// Makes the entries what they were.
    func takeBack(in entries: ViewEntries) throws {
        for (key, value) in old.reversed() {
            if let value {
                try unsafe value.withUnsafeBytes { try unsafe entries.put($0, for: key) }
            } else {
                try entries.delete(key)
            }
        }
        forget()
    }
}
