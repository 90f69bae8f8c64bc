import Glibc
import Synchronization

/// The processes that have a journal open for writing, from the first one that opens it to the last one
/// that closes it: each holds a lock on its page of words.
///
/// They are locks of the open file (fcntl_locking(2)), so that processes with equal ids of several
/// containers don't share one, and a process may open the file twice.
struct JournalSession: ~Copyable {
    // Of Linux; Glibc shows them to GNU programs only.
    private static let get: Int32 = 36
    private static let set: Int32 = 37
    private static let setWaiting: Int32 = 38

    private let descriptor: Int32
    /// Whether the session was seen to have begun. As long as the file is open here, what processes wrote
    /// to it stays, also if all of them end.
    private let isSeen: Atomic<Bool>

    /// - Parameter isReadOnly: Whether this process may only look at it.
    init(of descriptor: Int32, isReadOnly: Bool) {
        self.descriptor = descriptor
        isSeen = Atomic(!isReadOnly)
    }

    /// Whether it has begun, so that the words are those of its processes.
    var isLive: Bool {
        if isSeen.load(ordering: .relaxed) { return true }
        var lock = Self.lock(F_WRLCK)
        // The lock of one that just begins it is exclusive.
        guard fcntl(descriptor, Self.get, &lock) == 0, Int32(lock.l_type) == F_RDLCK else {
            return false
        }
        isSeen.store(true, ordering: .relaxed)
        return true
    }

    /// Joins the session if it has begun, and otherwise begins it: the others wait until this process
    /// joins it.
    ///
    /// - Returns: Whether it begins.
    func begin(_ path: String) throws(LMDBError) -> Bool {
        if try take(F_WRLCK, waits: false, path) { return true }
        try join(path)
        return false
    }

    /// Joins the session, until the file is closed.
    func join(_ path: String) throws(LMDBError) { _ = try take(F_RDLCK, waits: true, path) }

    /// - Returns: `false` if another one has a lock that is in the way.
    private func take(_ kind: Int32, waits: Bool, _ path: String) throws(LMDBError) -> Bool {
        var lock = Self.lock(kind)
        while fcntl(descriptor, waits ? Self.setWaiting : Self.set, &lock) != 0 {
            if !waits, errno == EAGAIN || errno == EACCES { return false }
            guard errno == EINTR else { throw LMDBError(errno: errno, "lock", path: path) }
        }
        return true
    }

    private static func lock(_ kind: Int32) -> flock {
        var lock = flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = SharedJournalPage.offset
        lock.l_len = SharedJournalPage.byteCount
        return lock
    }
}
