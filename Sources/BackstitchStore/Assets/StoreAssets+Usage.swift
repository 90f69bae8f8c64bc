extension StoreAssets {
    /// How much space contents take on this device, or gave back.
    public struct Usage: Hashable, Sendable {
        /// How many contents.
        public private(set) var files = 0
        /// Their bytes.
        public private(set) var bytes: Int64 = 0

        mutating func note(bytes: Int64) {
            files += 1
            self.bytes += bytes
        }
    }
}
