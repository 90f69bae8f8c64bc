import Backstitch
import BackstitchSync
import BackstitchStore

/// What a store has, but for how much of its log is left: a compaction and a refused write change
/// nothing of it.
struct StoreState: Equatable {
    private let tables: UInt64
    private let outbox: Outbox
    private let lastSequence: UInt64

    init(of store: Store) throws {
        (tables, outbox, lastSequence) = try store.read { transaction in
            (
                try TablesDigest(transaction.reader, hasContents: false).hash,
                try OutboxFolder(transaction.reader).fold(recordsMax: .max),
                try transaction.lastSequence
            )
        }
    }
}
