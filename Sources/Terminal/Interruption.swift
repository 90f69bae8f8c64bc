import Dispatch
import Glibc
import Threading

/// Notices signals, by default those that ask the program to end, which then no longer end it.
package final class Interruption: Sendable {
    private let signals: [Int32]
    private let state = Locked(false)
    private let sources = Locked<[any DispatchSourceSignal]>([])

    /// - Parameter happened: Called with the signal, on a thread of its own.
    package init(
        signals: [Int32] = [SIGINT, SIGTERM],
        _ happened: @escaping @Sendable (Int32) -> Void = { _ in }
    ) {
        self.signals = signals
        let state = state
        let listening = Locked(0)
        for number in signals {
            signal(number, SIG_IGN)
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    state.withLock { $0 = true }
                    happened(number)
                }
                source.setRegistrationHandler { listening.withLock { $0 += 1 } }
                source.resume()
                sources.append(source)
            }
        }
        // Dispatch begins to listen a little later, and a signal in between would be lost.
        while listening.withLock({ $0 }) < signals.count { usleep(500) }
    }

    /// Says what stays when the program is interrupted, and lets it end by the signal all the same.
    package convenience init(saying text: String, _ console: Console) {
        self.init { number in
            console.complain(console.isTerminal ? "\r\u{1B}[K" + text : text)
            signal(number, SIG_DFL)
            // Dispatch blocks the signal in its threads, and would take this one for another.
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, number)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            kill(getpid(), number)
        }
    }

    /// Whether it was asked.
    package var hasHappened: Bool { state.withLock { $0 } }

    /// Whether it was asked since this was called last.
    package func takeHasHappened() -> Bool {
        state.withLock { hasHappened in
            defer { hasHappened = false }
            return hasHappened
        }
    }

    /// Lets the signals end the program again.
    package func cancel() {
        sources.withLock { for source in $0 { source.cancel() } }
        for number in signals { signal(number, SIG_DFL) }
    }
}
