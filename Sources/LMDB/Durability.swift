/// What is on disk when a write returns.
package enum Durability: Sendable, Hashable {
    /// The commit is on disk and survives a power cut.
    case full
    /// The last commits may be missing after a power cut; the file stays intact (`MDB_NOMETASYNC`).
    case relaxed
    /// Nothing is synced, and a power cut destroys the file. Only for temporary environments.
    case none
}
