import Glibc

/// A process, remembered so that a forked child can be told from it.
package struct ProcessIdentity: Sendable {
    private let identifier: pid_t
    /// Holds the id of the running process. A fork updates it in the child, which saves a system
    /// call per check.
    nonisolated(unsafe) private let running: UnsafePointer<pid_t>

    /// The running process.
    package static var current: ProcessIdentity {
        ProcessIdentity(identifier: known.pointee, running: UnsafePointer(known))
    }

    /// Whether this process still runs the code, and not a child that was forked from it.
    package var isCurrent: Bool { running.pointee == identifier }

    /// Written once at first use, and afterwards only in a forked child, which has one thread.
    nonisolated(unsafe) private static let known: UnsafeMutablePointer<pid_t> = {
        let pointer = UnsafeMutablePointer<pid_t>.allocate(capacity: 1)
        pointer.initialize(to: getpid())
        pthread_atfork(nil, nil, { ProcessIdentity.known.pointee = getpid() })
        return pointer
    }()
}
