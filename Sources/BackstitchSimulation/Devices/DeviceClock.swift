import BackstitchCore
import BackstitchTesting
import Foundation
import Threading

/// The clock of one device: the common time, gone wrong by a number of milliseconds that can jump.
final class DeviceClock: StoreClock {
    private struct State {
        var skewMilliseconds: Int64
        var generator: SeededGenerator
        var isDriven = false
    }

    private let clock: ManualClock
    private let state: Locked<State>

    init(_ clock: ManualClock, skewMilliseconds: Int64, seed: UInt64) {
        self.clock = clock
        state = Locked(
            State(skewMilliseconds: skewMilliseconds, generator: SeededGenerator(seed: seed)))
    }

    var milliseconds: Int64 { clock.milliseconds + state.withLock { $0.skewMilliseconds } }

    /// The time of all devices.
    var commonMilliseconds: Int64 { clock.milliseconds }

    var now: Date { Date(milliseconds: milliseconds) }

    func jump(to skewMilliseconds: Int64) {
        state.withLock { $0.skewMilliseconds = skewMilliseconds }
    }

    /// Whether the device's engine goes on by itself, so that it has to wait for the common time.
    /// Otherwise a sleep ends at once: the driver asks for every round.
    func setDriven(_ isDriven: Bool) { state.withLock { $0.isDriven = isDriven } }

    func sleep(for duration: Duration) async throws {
        guard state.withLock(\.isDriven) else { return }
        // A wait of nothing is one too, so that no attempt goes unseen.
        try await clock.sleep(milliseconds: max(1, duration.wholeMilliseconds))
    }

    func random() -> Double { state.withLock { $0.generator.fraction() } }
}
