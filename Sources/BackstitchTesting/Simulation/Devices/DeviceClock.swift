import BackstitchSync
import LMDB

/// The clock of one device: the common time, gone wrong by a number of milliseconds that can jump.
final class DeviceClock: SyncClock {
    private struct State {
        var skewMilliseconds: Int64
        var generator: SeededGenerator
    }

    private let clock: ManualClock
    private let state: Locked<State>

    init(_ clock: ManualClock, skewMilliseconds: Int64, seed: UInt64) {
        self.clock = clock
        state = Locked(
            State(skewMilliseconds: skewMilliseconds, generator: SeededGenerator(seed: seed)))
    }

    var milliseconds: Int64 { clock.milliseconds + state.withLock { $0.skewMilliseconds } }

    func jump(to skewMilliseconds: Int64) {
        state.withLock { $0.skewMilliseconds = skewMilliseconds }
    }

    /// Nobody sleeps in a simulation: the driver asks for every round.
    func sleep(milliseconds: Int64) async throws {}

    func random() -> Double { state.withLock { $0.generator.fraction() } }
}
