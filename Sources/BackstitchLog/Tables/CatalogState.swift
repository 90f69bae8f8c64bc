package import BackstitchCore
package import LMDB
import Threading

/// The catalog of an open store, in step with what is stored, and what the program declares.
///
/// Another process may number new names, declare more or change indexes, so every transaction uses the catalog
/// that it sees itself. It is looked up only after a commit, and decoded only if its bytes are not
/// those of the last time.
package final class CatalogState: Sendable {
    private struct Known {
        var snapshot: CatalogSnapshot
        /// The stored bytes of the snapshot; nil if they were not compared yet.
        var bytes: [UInt8]?
        /// A commit at which the snapshot is right; nil if that was not seen yet.
        var transaction: UInt64?
    }

    private let known: Locked<Known>

    package init(_ snapshot: CatalogSnapshot) {
        known = Locked(Known(snapshot: snapshot, bytes: nil))
    }

    /// The catalog as it was last seen.
    package var snapshot: CatalogSnapshot { known.withLock { $0.snapshot } }

    /// Takes over what a commit of this store changed.
    package func set(_ snapshot: CatalogSnapshot) {
        known.withLock { $0 = Known(snapshot: snapshot, bytes: nil) }
    }

    /// The catalog that a transaction sees.
    package func current(_ access: Access, _ databases: Databases) throws -> CatalogSnapshot {
        let commit = access.commit
        let current = known.withLock { $0.transaction == commit ? $0.snapshot : nil }
        return try current ?? stored(access, databases, commit)
    }

    /// The catalog that a transaction sees, by what is stored.
    private func stored(
        _ access: Access, _ databases: Databases, _ commit: UInt64
    ) throws -> CatalogSnapshot {
        let known = self.known.withLock { $0 }
        let bytes = try unsafe Array(MetaName.catalog.utf8).withUnsafeBytes {
            try unsafe access.get($0, in: databases.meta)
        }
        guard let bytes = unsafe bytes else { return known.snapshot }
        if let same = known.bytes, unsafe bytes.holdsSameBytes(as: same) {
            self.known.withLock { if $0.bytes == known.bytes { $0.transaction = commit } }
            return known.snapshot
        }
        let stored = unsafe Array(bytes)
        let catalog = try CatalogCoding.decode(stored)
        let isKnown = catalog == known.snapshot.catalog
        let declared = known.snapshot.declared
        let snapshot = isKnown ? known.snapshot : CatalogSnapshot(catalog, declared: declared)
        self.known.withLock {
            // A long read may see an older catalog than others saw since.
            guard commit >= $0.transaction ?? 0, $0.snapshot.declared == declared else { return }
            $0 = Known(snapshot: snapshot, bytes: stored, transaction: commit)
        }
        return snapshot
    }
}
