extension StoreAssets {
    /// What a verification of contents found.
    public struct Verification: Hashable, Sendable {
        /// How many contents were compared with their hashes.
        public internal(set) var checked = 0
        /// The hashes of those that were not what their names say, and were moved away.
        public internal(set) var corrupt: [String] = []
        /// The hashes of contents that records hold and that are neither here nor known to be on the service.
        public internal(set) var missing: [String] = []
        /// How many contents nothing names; `StoreAssets.collect(addedBefore:)` removes them once they are
        /// old enough.
        public internal(set) var orphans = 0

        /// Whether every content is what its name says, and none is missing.
        public var isConsistent: Bool { corrupt.isEmpty && missing.isEmpty }
    }
}
