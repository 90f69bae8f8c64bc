import Threading

/// The connections of a storage. There are as many as threads that work with them.
final class ConnectionPool: Sendable {
    /// The time after a failed attempt to connect before the next one, in milliseconds.
    private static let pauseMilliseconds: Int64 = 250

    private struct State {
        var idle: [Connection] = []
        /// Why the server could not be reached, and until when that counts.
        var failure: (error: PostgreSQLError, end: Int64)?
        var isClosed = false
    }

    private let address: PostgreSQLAddress
    private let steadyMilliseconds: @Sendable () -> Int64
    private let state = Locked(State())

    init(_ address: PostgreSQLAddress, steadyMilliseconds: @escaping @Sendable () -> Int64) {
        (self.address, self.steadyMilliseconds) = (address, steadyMilliseconds)
    }

    /// A connection that waits for work, or a new one. Whoever has it gives it back, unless it failed.
    func take() throws(PostgreSQLError) -> Connection {
        let now = steadyMilliseconds()
        let (idle, failure) = state.withLock { state in
            (state.idle.popLast(), state.failure.flatMap { $0.end > now ? $0.error : nil })
        }
        if let idle { return idle }
        if let failure { throw failure }
        return try connect()
    }

    /// A new connection.
    func connect() throws(PostgreSQLError) -> Connection {
        do {
            let connection = try Connection(address, .standard)
            state.withLock { $0.failure = nil }
            return connection
        } catch {
            let end = steadyMilliseconds() + Self.pauseMilliseconds
            state.withLock { $0.failure = (error, end) }
            throw error
        }
    }

    func giveBack(_ connection: Connection) {
        state.withLock { state in
            if !state.isClosed { state.idle.append(connection) }
        }
    }

    /// Forgets connections that wait: one of them was cut, and the others probably were.
    func forgetIdle() { _ = takeIdle() }

    private func takeIdle(closes: Bool = false) -> [Connection] {
        state.withLock { state in
            defer { state.idle = [] }
            state.isClosed = state.isClosed || closes
            return state.idle
        }
    }

    /// Ends the connections that wait, and those that are given back.
    func close() { _ = takeIdle(closes: true) }
}
