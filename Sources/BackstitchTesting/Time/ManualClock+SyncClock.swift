public import BackstitchSync

extension ManualClock: SyncClock {
    /// Always a half, so that waits are the same in every run.
    public func random() -> Double { 0.5 }
}
