package import LMDB

extension Store {
    /// Asked before every commit what the disk does instead; nil lets it happen. For tests. All stores
    /// on the files share it.
    package func setDiskFault(_ fault: (@Sendable () -> CommitFault?)?) {
        environment.setCommitFault(fault)
    }
}
