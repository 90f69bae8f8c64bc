import Glibc

/// A thread of the operating system that runs one closure.
///
/// It ends with the closure, and is either joined or detached, once.
package struct SystemThread: Sendable {
    private let handle: pthread_t

    private final class Job: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread. Traps if the system has none left.
    package init(_ run: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let context = Unmanaged.passRetained(Job(run)).toOpaque()
        let status = pthread_create(
            &handle, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Job>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(status == 0, "The system has no thread left: \(status).")
        self.handle = handle
    }

    /// Runs a closure on a thread that nobody waits for.
    package static func detach(_ run: @escaping @Sendable () -> Void) {
        SystemThread(run).detach()
    }

    /// Waits until the closure has ended.
    package func join() { pthread_join(handle, nil) }

    /// Lets the thread end by itself.
    package func detach() { pthread_detach(handle) }
}
