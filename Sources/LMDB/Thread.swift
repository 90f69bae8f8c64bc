import Glibc

/// A thread for one job that must not run where it was found.
enum Thread {
    private final class Job: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs a closure on a thread of its own.
    static func detach(_ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Job(run)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Job>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(status == 0, "The system has no thread left: \(status).")
        pthread_detach(thread)
    }
}
