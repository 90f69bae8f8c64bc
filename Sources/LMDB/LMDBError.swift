/// What went wrong in the storage layer, and what to do about it.
///
/// Every failure of the module is this one type, except errors that a caller's own closure throws.
@usableFromInline
package struct LMDBError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure a caller may want to tell apart.
    package enum Code: Sendable, Hashable {
        /// The folder or its data file isn't there.
        case notFoundPath
        /// The path, or a part of it, is a file.
        case notADirectory
        /// The operating system refuses access to a file.
        case permissionDenied
        /// The folder can't be written and the environment wasn't opened for reading only.
        case readOnlyDirectory
        /// The data file isn't an LMDB file, or isn't one of ours.
        case foreignFile
        /// The file was written by an LMDB with another format.
        case versionMismatch
        /// Pages that are in use lie behind the end of the file.
        case truncated
        /// A page contradicts itself or the page that refers to it.
        case damaged
        /// The folder is on a file system that is shared between machines.
        case networkFileSystem
        /// The same data file is open in this process with other options.
        case differentOptions
        /// A write was started inside a write.
        case alreadyWriting
        /// The environment is closed.
        case closed
        /// The environment was opened before a fork and is used in the child.
        case forked
        /// All reader slots are taken.
        case readersFull
        /// The map has reached its largest size.
        case mapFull
        /// The disk, or the quota, is full.
        case diskFull
        /// A key is longer than 511 bytes.
        case keyTooLong
        /// A key has no bytes.
        case keyEmpty
        /// An appended key doesn't sort behind the last one.
        case appendOutOfOrder
        /// An earlier commit failed in the middle; only closing and opening again helps.
        case panicked
        /// The call would wait for its own caller.
        case busy
        /// Another data file is about to take the place of the environment's.
        case beingReplaced
        /// The task of a read was cancelled.
        case cancelled
        /// The operating system reported a failure of the device or the file system.
        case io
        /// Anything else; the message tells.
        case other
    }

    /// The kind of failure.
    package let code: Code
    /// What happened and what to do, as full sentences.
    package let message: String
    /// The LMDB or `errno` value behind the failure; 0 if there is none.
    package let underlying: Int32

    /// Whether the disk or the map is used up; nothing was changed then.
    package var isAboutSpace: Bool { code == .mapFull || code == .diskFull }

    /// Makes an error.
    package init(_ code: Code, _ message: String, underlying: Int32 = 0) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    @usableFromInline package var description: String {
        underlying == 0 ? "\(code): \(message)" : "\(code) (\(underlying)): \(message)"
    }
}
