/// What a snapshot lacks to be the last state.
enum SnapshotState {
    /// Nothing.
    case complete
    /// The changes of records.
    case lacks(Overlay)
    /// The snapshot is older than the overlay: begin another one.
    case stale
}
