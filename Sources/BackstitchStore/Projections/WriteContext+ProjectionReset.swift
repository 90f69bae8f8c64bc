import BackstitchCore

extension WriteContext {
    /// Begins views anew that lack operations which compaction is about to replace: a baseline does not
    /// tell them what was before, and a record that ended leaves none.
    ///
    /// Compaction waits for the projections of its own store, so that this concerns those that only
    /// other programs have, those that failed, and those that were begun anew meanwhile.
    ///
    /// - Parameter end: The last operation that may be replaced.
    func resetProjections(before end: UInt64) throws {
        try noteInlineProjections()
        for (name, state) in try reader.projectionStates() {
            guard state.checkpoint > 0, state.checkpoint < end else { continue }
            var state = state
            state.reset()
            try put(state, of: name)
        }
    }

    /// Begins views anew after a change of the schema that decides which records fit their Swift types,
    /// and how: what a view took in as nothing may be a record now, and the reverse.
    ///
    /// Views that need the whole log stay as they are, and those that this store knows not to want the
    /// entities.
    func resetProjections(afterAdopting catalog: Catalog) throws {
        let changed = CatalogSnapshot(catalog).tables.filter { table in
            catalog.entities[Int(table.number.rawValue) - 1].needsExamination == true
        }
        guard !changed.isEmpty else { return }
        let registered = RegisteredProjections(
            configuration.projections, types: TypeTable(schema: Schema(), catalog: self.catalog))
        for (name, state) in try reader.projectionStates() where state.checkpoint > 0 {
            if let projection = registered[name] {
                let isConcerned = changed.contains { projection.wants($0) }
                if projection.needsWholeLog || !isConcerned { continue }
            }
            var state = state
            state.reset()
            try put(state, of: name)
        }
    }
}
