/// A failure of the storage that the hub tells from others.
package protocol StorageFailure: Error {
    /// Whether there is no space left; nothing was changed then.
    var isAboutSpace: Bool { get }
    /// Whether the same may succeed a little later: the storage is away.
    var isPassing: Bool { get }
}

extension StorageFailure {
    package var isPassing: Bool { false }
}
