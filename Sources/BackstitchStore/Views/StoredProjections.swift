import BackstitchCore
package import BackstitchLog
import LMDB

/// The states of the views that a store has.
package struct StoredProjections {
    private let reader: TableReader

    package init(_ reader: TableReader) {
        self.reader = reader
    }

    /// The stored state of a projection; nil if there is none.
    func state(_ name: String) throws -> ProjectionState? {
        try reader.meta.value(MetaName.projection(name)).map { try state(in: $0, name) }
    }

    private func state(
        in bytes: [UInt8], _ name: String
    ) throws -> ProjectionState {
        guard let state = ProjectionState(bytes) else {
            throw StoreError(
                .damaged,
                "The state of the projection '\(name)' can't be read, or a newer version wrote it. "
                    + "Update the program, or remove the projection and let it be built anew.")
        }
        return state
    }

    /// The stored states, in the order of their names.
    package func states() throws -> [(name: String, state: ProjectionState)] {
        var states: [(name: String, state: ProjectionState)] = []
        try reader.meta.visit(MetaName.projectionPrefix) { name, bytes in
            states.append((name, try state(in: bytes, name)))
            return true
        }
        return states
    }

    /// The last operation that may be compacted as far as projections go: those of this store that are
    /// behind still read the operations one by one. Nil if none is in the way.
    func compactionLimit(of registered: RegisteredProjections) throws -> UInt64? {
        try registered.all.compactMap { projection in
            guard let state = try self.state(projection.name),
                state.version == projection.version, state.failure == nil
            else { return nil }
            return state.checkpoint
        }.min()
    }

    /// Whether a view is of this log: a log that was salvaged may have other operations under the same
    /// sequences.
    func holds(_ state: ProjectionState) throws -> Bool {
        guard state.checkpoint > 0 else { return true }
        guard try state.checkpoint <= reader.log.head else { return false }
        if let clock = try? reader.log.withOperation(state.checkpoint, \.clock) {
            return clock == state.clock
        }
        return try state.checkpoint <= LogHorizon(reader).compaction.through
    }
}

extension TableReader {
    /// The entries of a view.
    package func entries(of state: ProjectionState) -> ViewEntries {
        ViewEntries(access: access, database: databases.meta, slot: state.slot)
    }
}
