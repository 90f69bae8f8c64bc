import BackstitchHubCore
import Glibc
import LMDB

/// The right to serve a folder, which one process has at a time, or several that share it. It ends with the
/// process.
final class ServingLock: Sendable {
    private static let name = "serving.lock"

    private let descriptor: Int32

    /// - Parameter isShared: Whether others may have it that share it too.
    /// - Throws: A failure if the folder is served already.
    init(directory: String, isShared: Bool = false) throws(HubError) {
        let path = directory + "/" + Self.name
        // The property comes last: once it is set, a failure would end in the `deinit`, which would
        // close the descriptor a second time, or what another thread opened meanwhile.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw HubError(
                .inaccessible,
                "The file '\(path)' can't be made: \(String(cString: strerror(errno))).")
        }
        guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            close(descriptor)
            throw HubError(
                isTaken ? .busy : .inaccessible,
                isTaken
                    ? "Another hub serves the folder '\(directory)'. End that one first."
                    : "The folder '\(directory)' can't be locked.")
        }
        self.descriptor = descriptor
    }

    /// Whether a process serves a folder.
    static func isTaken(in directory: String) -> Bool {
        FileLease.isTaken(at: directory + "/" + name)
    }

    deinit {
        FileLease.close(locked: descriptor)
    }
}
