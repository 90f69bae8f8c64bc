import Threading

/// The thread that applies records beside the writer: when it is asked, and when there was no commit
/// for a while.
final class JournalApplier: @unchecked Sendable {  // Protected by the monitor.
    /// The longest wait after failures is so many times that after one.
    private static let waitDoublingsMax = 6

    private let idleMilliseconds: Int
    private let monitor = Monitor()
    private var thread: SystemThread?
    /// Returns whether something is left.
    private var apply: (@Sendable () throws -> Bool)?
    private var hasWork = false
    private var isAsked = false
    /// Whether a commit was made since the thread looked last.
    private var isBusy = false
    private var isClosing = false
    /// The failures in a row.
    private var failures = 0

    init(idleMilliseconds: Int) { self.idleMilliseconds = idleMilliseconds }

    /// Sets what is done. To be called once, before the first wake.
    func begin(_ apply: @escaping @Sendable () throws -> Bool) { self.apply = apply }

    /// Tells the thread of a commit, and starts it with the first one.
    ///
    /// - Parameter asks: Whether records have to be applied now.
    func wake(asks: Bool) {
        monitor.enter()
        defer { monitor.leave() }
        guard !isClosing else { return }
        isBusy = true
        let hadWork = hasWork
        hasWork = true
        if asks { isAsked = true }
        if thread == nil {
            thread = SystemThread { self.run() }
        } else if asks && failures == 0 || !hadWork {
            // After a failure the thread waits its time; a commit that needs the room applies itself.
            monitor.broadcast()
        }
    }

    /// Ends the thread.
    func close() {
        monitor.enter()
        isClosing = true
        monitor.broadcast()
        let thread = thread
        monitor.leave()
        thread?.join()
        apply = nil
    }

    private func run() {
        monitor.enter()
        defer { monitor.leave() }
        while !isClosing {
            guard hasWork else {
                monitor.wait()
                continue
            }
            if failures > 0 {
                _ = monitor.wait(milliseconds: 100 << min(failures, Self.waitDoublingsMax))
            } else if !isAsked, monitor.wait(milliseconds: idleMilliseconds) {
                continue
            } else if !isAsked, isBusy {
                isBusy = false
                continue
            }
            guard !isClosing else { return }
            isAsked = false
            hasWork = false
            monitor.leave()
            let isLeft = try? apply?()
            monitor.enter()
            if isLeft != false { hasWork = true }
            failures = isLeft == nil ? failures + 1 : 0
        }
    }
}
