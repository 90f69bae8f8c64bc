import Dispatch
import Glibc
import Threading

/// Notices that the program is asked to end (SIGINT, SIGTERM), which then no longer ends it.
final class Interruption: Sendable {
    private static let signals = [SIGINT, SIGTERM]

    private let state = Locked(false)
    private let sources = Locked<[any DispatchSourceSignal]>([])

    /// - Parameter happened: Called with the signal, on a thread of its own.
    init(_ happened: @escaping @Sendable (Int32) -> Void = { _ in }) {
        let state = state
        for number in Self.signals {
            signal(number, SIG_IGN)
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    state.withLock { $0 = true }
                    happened(number)
                }
                source.resume()
                sources.append(source)
            }
        }
    }

    /// Says what stays when the program is interrupted, and lets it end by the signal all the same.
    convenience init(saying text: String, _ console: Console) {
        self.init { number in
            console.complain(console.isTerminal ? "\r\u{1B}[K" + text : text)
            signal(number, SIG_DFL)
            kill(getpid(), number)
        }
    }

    /// Whether it was asked.
    var hasHappened: Bool { state.withLock { $0 } }

    /// Lets the signals end the program again.
    func cancel() {
        sources.withLock { for source in $0 { source.cancel() } }
        for number in Self.signals { signal(number, SIG_DFL) }
    }
}
