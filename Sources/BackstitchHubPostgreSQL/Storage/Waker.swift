import BackstitchHubCore
import CPostgreSQL
import Glibc
import Threading

/// Tells other hubs what this one changed, and hears from them, on a thread and a connection of its own.
///
/// Of the hubs that listen one has the lock that says who cleans up. It goes with the connection.
final class Waker: Sendable {
    private static let tell = Statement(
        "tell", .text, .text, sql: "SELECT pg_notify($1, $2)")
    private static let look = Statement(
        "watched", .numbers, sql: "SELECT p, seq FROM backstitch_partitions WHERE p = ANY ($1)")
    private static let takeTurn = Statement(
        "takeTurn", .number, sql: "SELECT 1::int8 WHERE pg_try_advisory_lock($1)")
    /// How long it takes from one try to connect to the next, in milliseconds.
    private static let pauseMilliseconds = 500

    private struct Listener {
        var watching: @Sendable () -> [Partition]
        var wake: @Sendable (ChangedPartitions) -> Void
    }

    private struct State {
        var schedule: WakeSchedule
        var listener: Listener?
        var thread: SystemThread?
        var isListening = false
        var cleansUp = false
        var isStopped = false
    }

    private let address: PostgreSQLAddress
    private let identity: HubSchema.Identity
    private let steadyMilliseconds: @Sendable () -> Int64
    private let state: Locked<State>
    private let bell = backstitch_bell()

    init(
        _ address: PostgreSQLAddress, _ identity: HubSchema.Identity, sender: Int64,
        steadyMilliseconds: @escaping @Sendable () -> Int64
    ) {
        (self.address, self.identity) = (address, identity)
        self.steadyMilliseconds = steadyMilliseconds
        state = Locked(State(schedule: WakeSchedule(sender: sender)))
    }

    deinit { close(bell) }

    /// Whether what others change is heard of.
    var isListening: Bool { state.withLock { $0.isListening } }

    /// Whether no other hub cleans up.
    var cleansUp: Bool { state.withLock { $0.cleansUp } }

    /// Makes commits, of which others are told soon.
    func telling(
        _ commits: [(partition: Partition, number: Int64)], _ commit: () throws -> Void
    ) throws {
        state.withLock { $0.schedule.begin(commits) }
        do {
            try commit()
        } catch {
            state.withLock { $0.schedule.end(commits, areMade: false) }
            throw error
        }
        let hadNews = state.withLock { state in
            defer { state.schedule.end(commits, areMade: true) }
            return state.schedule.hasNews
        }
        // The thread knows of the first, and takes the others along.
        if !hadNews { change { _ in } }
    }

    /// Begins to hear from others.
    func listen(
        watching: @escaping @Sendable () -> [Partition],
        _ wake: @escaping @Sendable (ChangedPartitions) -> Void
    ) {
        change { state in
            state.listener = Listener(watching: watching, wake: wake)
            state.schedule.lookSoon()
        }
    }

    /// Tells what is left to tell, and ends. A second call does nothing.
    func stop() {
        let thread = state.withLock { state in
            defer { state.thread = nil }
            state.isStopped = true
            return state.thread
        }
        backstitch_ring(bell)
        thread?.join()
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            guard state.thread == nil, !state.isStopped else { return }
            state.thread = SystemThread { [self] in run() }
        }
        backstitch_ring(bell)
    }

    // MARK: The thread

    private func run() {
        var isFirst = true
        while true {
            do {
                try serve(isFirst: isFirst)
                return
            } catch {
                let isStopped = state.withLock { state in
                    (state.isListening, state.cleansUp) = (false, false)
                    state.schedule.reconnect()
                    return state.isStopped
                }
                // What others are not told of they find by themselves.
                if isStopped { return }
                isFirst = false
                wait(for: -1, milliseconds: Int64(Self.pauseMilliseconds))
            }
        }
    }

    /// Works until it is stopped.
    private func serve(isFirst: Bool) throws {
        let connection = try Connection(address, .plain)
        var hears = false
        while true {
            let (listener, isStopped) = state.withLock { ($0.listener, $0.isStopped) }
            if let listener, !hears {
                let listen = Statement("listen", sql: "LISTEN \(identity.channel)")
                _ = try connection.roundTrip([BoundStatement(listen)])
                hears = true
                state.withLock { $0.isListening = true }
                // Commits that were made while this hub did not listen were not reported to it.
                if !isFirst { listener.wake(.all) }
            }
            let action = state.withLock { state in
                state.schedule.next(now: steadyMilliseconds(), isWatching: hears && !isStopped)
            }
            switch action {
            case .tell(let text):
                _ = try connection.roundTrip([
                    BoundStatement(Self.tell).adding(identity.channel).adding(text)
                ])
                state.withLock { $0.schedule.told() }
            case .look: if let listener { try look(listener, connection) }
            case .wait(let milliseconds):
                if isStopped, state.withLock({ !$0.schedule.hasNews }) { return }
                wait(for: connection.socket, milliseconds: milliseconds)
            }
            for text in try connection.takeNotifications() {
                if let changed = state.withLock({ $0.schedule.read(text) }) {
                    listener?.wake(changed)
                }
            }
        }
    }

    /// Looks at the partitions that are watched, and whether the hub that cleans up has gone.
    private func look(_ listener: Listener, _ connection: Connection) throws {
        let partitions = listener.watching()
        var calls = [BoundStatement(Self.look).adding(partitions.map(\.column))]
        if !cleansUp { calls.append(BoundStatement(Self.takeTurn).adding(identity.number)) }
        let answers = try connection.roundTrip(calls)
        let rows = answers[0]
        var found = Dictionary(partitions.map { ($0, Int64(0)) }) { first, _ in first }
        for row in 0..<rows.count {
            let partition = Partition(number: UInt64(bitPattern: try rows.number(row, 0)))
            found[partition] = try rows.number(row, 1)
        }
        let changed = state.withLock { $0.schedule.looked(found) }
        if !changed.isEmpty { listener.wake(.some(changed)) }
        if answers.count > 1, answers[1].count == 1 { state.withLock { $0.cleansUp = true } }
    }

    /// Waits for bytes of a socket, or for the bell.
    private func wait(for socket: Int32, milliseconds: Int64) {
        var descriptors = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe poll(&descriptors, 2, Int32(clamping: milliseconds))
        backstitch_silence(bell)
    }
}
