extension StoreConfiguration {
    /// Whether an existing store is opened only to be read, or also to be written.
    public enum Access: String, Hashable, Sendable, CaseIterable {
        /// Reading only. The data file is never written. A lock file is made if it is missing and
        /// may be, because it keeps writers of other processes from overwriting what is read. If it can't be
        /// written to, the store can be opened and read only while no other process has it open; otherwise
        /// calls throw `busy`.
        case readOnly
        /// Reading and writing.
        case readWrite
    }
}
