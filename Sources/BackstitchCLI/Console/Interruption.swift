import Dispatch
import Glibc
import LMDB

/// Notices that the program is asked to end (SIGINT, SIGTERM), which then no longer ends it.
final class Interruption: Sendable {
    private let state = Locked(false)
    private let sources = Locked<[any DispatchSourceSignal]>([])

    init() {
        let state = state
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { state.withLock { $0 = true } }
                source.resume()
                sources.append(source)
            }
        }
    }

    /// Whether it was asked.
    var hasHappened: Bool { state.withLock { $0 } }
}
