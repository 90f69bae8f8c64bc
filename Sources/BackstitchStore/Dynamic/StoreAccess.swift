/// What an existing store is opened for: reading, or writing too.
public enum StoreAccess: String, Hashable, Sendable, CaseIterable {
    /// Reading only. The data file is never written. A lock file is made if it is missing and
    /// may be, because it keeps writers of other processes from overwriting what is read.
    case readOnly
    /// Reading and writing.
    case readWrite
}
