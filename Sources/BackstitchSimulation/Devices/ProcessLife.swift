import Threading

/// A process from its start to its end, by which all of its connections end too.
final class ProcessLife: Sendable {
    private struct State {
        var hasEnded = false
        var connections: [DeviceConnection]
    }

    private let state: Locked<State>

    init(_ connection: DeviceConnection) {
        state = Locked(State(connections: [connection]))
    }

    var isCrashed: Bool { state.withLock { $0.hasEnded } }

    /// Another engine of the process has a connection.
    func add(_ connection: DeviceConnection) {
        let hasEnded = state.withLock { state in
            state.connections.append(connection)
            return state.hasEnded
        }
        if hasEnded { connection.crash() }
    }

    func end() {
        let connections = state.withLock { state in
            state.hasEnded = true
            return state.connections
        }
        for connection in connections { connection.crash() }
    }
}
