import Glibc

/// Tells cheaply whether the process is a forked child.
enum Process {
    /// The id of the running process, without a system call: a fork updates it in the child.
    private(set) static var current: pid_t {
        get { identifier.pointee }
        set { identifier.pointee = newValue }
    }

    /// Written once at first use, and afterwards only in a forked child, which has one thread.
    nonisolated(unsafe) private static let identifier: UnsafeMutablePointer<pid_t> = {
        let pointer = UnsafeMutablePointer<pid_t>.allocate(capacity: 1)
        pointer.initialize(to: getpid())
        pthread_atfork(nil, nil, { Process.current = getpid() })
        return pointer
    }()
}
