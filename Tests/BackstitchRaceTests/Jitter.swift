import Glibc
import LMDB
import Threading

/// Passes time at the marked points of the package, so that threads meet there in orders that are
/// rare otherwise. In a release build there are no points, and the threads meet as they do.
final class Jitter: Sendable {
    private let state: Locked<UInt64>
    private let points = Locked(0)

    private let hook = Locked(0)

    init(seed: UInt64) {
        state = Locked(seed)
        let number = TestPoint.hook { [weak self] _ in self?.pass() }
        hook.withLock { $0 = number }
    }

    deinit { end() }

    /// Passes no more time.
    func end() { TestPoint.unhook(hook.withLock { $0 }) }

    /// How many points were passed.
    var count: Int { points.withLock { $0 } }

    private func random() -> UInt32 {
        state.withLock { state in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt32(state >> 33)
        }
    }

    private func pass() {
        points.withLock { $0 += 1 }
        switch random() % 8 {
        case 0..<4: break
        case 4..<6: sched_yield()
        case 6: usleep(1 + random() % 50)
        default: usleep(1 + random() % 400)
        }
    }
}
