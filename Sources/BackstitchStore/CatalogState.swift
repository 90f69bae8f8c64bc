import BackstitchCore
import LMDB

/// The catalog of an open store, in step with what is stored.
///
/// Another process may number new names, so a write starts from the catalog that its own
/// transaction sees; it is decoded only where its bytes are not those of the last time.
final class CatalogState: Sendable {
    private struct Known {
        var snapshot: CatalogSnapshot
        /// The stored bytes of the snapshot; nil where they were not compared yet.
        var bytes: [UInt8]?
    }

    private let known: Locked<Known>

    init(_ snapshot: CatalogSnapshot) {
        known = Locked(Known(snapshot: snapshot, bytes: nil))
    }

    /// The catalog as it was last seen.
    var snapshot: CatalogSnapshot { known.withLock { $0.snapshot } }

    /// Takes over what a commit of this store changed.
    func set(_ snapshot: CatalogSnapshot) {
        known.withLock { $0 = Known(snapshot: snapshot, bytes: nil) }
    }

    /// The catalog that a transaction sees.
    func current(_ access: Access, _ databases: Databases) throws -> CatalogSnapshot {
        let bytes = try Array(MetaName.catalog.utf8).withUnsafeBytes {
            try access.get($0, in: databases.meta)
        }
        guard let bytes else { return snapshot }
        let same = known.withLock { known -> CatalogSnapshot? in
            let isSame = known.bytes?.withUnsafeBytes { $0.holdsSameBytes(as: bytes) } ?? false
            return isSame ? known.snapshot : nil
        }
        if let same { return same }
        let stored = Array(bytes)
        let snapshot = CatalogSnapshot(try CatalogCoding.decode(stored))
        known.withLock { $0 = Known(snapshot: snapshot, bytes: stored) }
        return snapshot
    }
}
