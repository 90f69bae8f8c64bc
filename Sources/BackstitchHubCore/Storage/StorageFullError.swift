/// A failure of the storage that may be one of space.
package protocol StorageFullError: Error {
    /// Whether there is no space left; nothing was changed then.
    var isAboutSpace: Bool { get }
}
