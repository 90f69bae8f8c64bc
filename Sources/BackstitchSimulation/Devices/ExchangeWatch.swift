import Threading

/// Watches the requests of all engines on one store: they have one under way at a time.
///
/// Only the last request of an engine that was stopped may go on beside those of the next one in the
/// same process. Another process has to wait for it.
final class ExchangeWatch: Sendable {
    private struct State {
        var underWay: [DeviceConnection] = []
        var violations: [String] = []
    }

    private let state = Locked(State())

    var violations: [String] { state.withLock { $0.violations } }

    func begin(_ connection: DeviceConnection) {
        state.withLock { state in
            for other in state.underWay where !other.isCrashed {
                if other === connection {
                    state.violations.append("an engine sends while its last request is under way")
                } else if other.process != connection.process {
                    state.violations.append("two processes have requests under way")
                } else if !other.isLetGo {
                    state.violations.append("two engines that go on have requests under way")
                }
            }
            state.underWay.append(connection)
        }
    }

    func end(_ connection: DeviceConnection) {
        state.withLock { state in
            if let index = state.underWay.firstIndex(where: { $0 === connection }) {
                state.underWay.remove(at: index)
            }
        }
    }
}
