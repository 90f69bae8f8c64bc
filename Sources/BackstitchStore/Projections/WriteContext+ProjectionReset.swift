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
}
