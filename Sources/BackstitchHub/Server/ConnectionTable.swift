import BackstitchHubCore
import CMicroHTTPD
import Glibc
import Threading

/// The open connections, whose they are, and by when each has to get on.
///
/// libmicrohttpd closes connections that are idle, but not those that send a byte now and then. And
/// where there is no room for one more, it lets the newcomer wait; here the address that has the most
/// makes room.
///
/// Invariant: all that changes is behind a lock. Pointers to connections are names there, and not
/// `Sendable` for the compiler.
final class ConnectionTable: @unchecked Sendable {
    /// Whose a connection is.
    struct Peer: Sendable {
        /// The address as text.
        var host: String
        /// By what the connections of an address are counted together.
        var name: String
    }

    // Every access to the state holds the lock; descriptors are those of open connections, because
    // the library tells of the end of one before it closes it.
    private struct Entry {
        var descriptor: Int32
        var peer: Peer
        /// What its address has, with its other connections.
        var share: Share
        /// In which order connections began to wait for what they wait for.
        var number: Int
        /// In seconds of the steady clock; nil while the hub answers.
        var deadline: Int?
        /// What the hub does for it, and since when.
        var work: RequestWork?
        var since = 0
        /// Whether a reply is on its way, and its bytes in memory.
        var isReplying = false
        var replyBytes = 0
        /// Whether all was read that the client ever sends, when it was looked at last.
        var hasEnded = false
        var isClosing = false

        /// Whether more has to come from the client before anything can be done for it.
        var isReceiving: Bool { work == nil && !isReplying && !isClosing }

        /// Notes that no reply is on its way any more; its bytes if one was.
        mutating func endReply() -> Int? {
            guard isReplying else { return nil }
            defer { (isReplying, replyBytes) = (false, 0) }
            share.replyBytes -= replyBytes
            return replyBytes
        }
    }

    private final class Share {
        var connections = 0
        var replyBytes = 0
    }

    private struct State {
        var entries: [OpaquePointer: Entry] = [:]
        /// Descriptors that the library was handed, and has not told of yet.
        var arriving: Set<Int32> = []
        var shares: [String: Share] = [:]
        var lastNumber = 0
        var starts = 0
        var answering = 0
        var replying = 0
        var replyBytes = 0
        /// Those that were told to end, and have not yet.
        var closing = 0

        /// Changes an entry in its place, if it is there.
        mutating func change(_ connection: OpaquePointer, _ body: (inout Entry) -> Void) {
            guard let place = entries.index(forKey: connection) else { return }
            body(&entries.values[place])
        }

        /// Ends the reply of an entry, if it is there, and changes it further.
        mutating func endReply(
            _ connection: OpaquePointer, then body: (inout Entry) -> Void = { _ in }
        ) {
            var bytes: Int?
            change(connection) { entry in
                bytes = entry.endReply()
                body(&entry)
            }
            guard let bytes else { return }
            replying -= 1
            replyBytes -= bytes
        }

        mutating func close(_ connection: OpaquePointer) {
            guard let entry = entries[connection] else { return }
            shutdown(entry.descriptor, Int32(SHUT_RDWR))
            // Its reply goes with it, so that no other is ended for the same bytes.
            endReply(connection)
            entries[connection]?.deadline = nil
            guard !entry.isClosing else { return }
            entries[connection]?.isClosing = true
            closing += 1
        }

        /// Of the connections that may end, the one that waits longest of the address with the most of
        /// something.
        ///
        /// - Complexity: O(*n*) in the connections, however many addresses they are of.
        func victim(
            _ amount: (Share) -> Int, where mayEnd: (Entry) -> Bool
        ) -> OpaquePointer? {
            var best: (connection: OpaquePointer, amount: Int, number: Int)?
            for (connection, entry) in entries where !entry.isClosing && mayEnd(entry) {
                let amount = amount(entry.share)
                if let best, (amount, -entry.number) <= (best.amount, -best.number) { continue }
                best = (connection, amount, entry.number)
            }
            return best?.connection
        }
    }

    /// The peer has closed its side: `POLLRDHUP` of `poll(2)`, which Swift does not import.
    private static let hangUp: Int32 = 0x2000

    private let limits: HTTPLimits
    private let state = Locked(State())

    init(limits: HTTPLimits) { self.limits = limits }

    /// How many requests are being answered.
    var answeringCount: Int { state.withLock { $0.answering } }

    /// How many replies were begun and are not sent to their end.
    var replyingCount: Int { state.withLock { $0.replying } }

    /// The number of connections.
    var count: Int { state.withLock { $0.entries.count } }

    /// Whether an address may have one more connection, beside some that are not here yet.
    func mayConnect(_ address: String, waiting: Int) -> Bool {
        state.withLock {
            ($0.shares[address]?.connections ?? 0) + waiting < limits.connectionsPerAddress
        }
    }

    /// Notes that the library is handed a connection; false if it has as many as there may be, those
    /// that are being closed included, and then it must not have it.
    ///
    /// The library tells of a connection later, on another thread. One of which it never tells is
    /// forgotten when its descriptor is another connection's.
    func noteArrival(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            state.arriving.remove(descriptor)
            let most = limits.connections + HTTPLimits.spareConnections
            guard state.entries.count + state.arriving.count < most else { return false }
            state.arriving.insert(descriptor)
            return true
        }
    }

    /// Notes that the library did not take what it was handed.
    func noteRejection(_ descriptor: Int32) {
        _ = state.withLock { $0.arriving.remove(descriptor) }
    }

    /// Whose a connection is.
    func peer(of connection: OpaquePointer) -> Peer {
        let key = ConnectionKey(pointer: connection)
        return state.withLock { $0.entries[key.pointer]?.peer } ?? Peer(host: "", name: "")
    }

    /// Notes a connection, and ends another one if there are too many.
    func noteStart(_ connection: OpaquePointer, _ peer: Peer) {
        let descriptor = backstitch_connection_descriptor(connection)
        let deadline = Self.now + limits.headSeconds
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            state.lastNumber += 1
            state.starts += 1
            state.arriving.remove(descriptor)
            let share = state.shares[peer.name] ?? Share()
            share.connections += 1
            state.shares[peer.name] = share
            state.entries[key.pointer] = Entry(
                descriptor: descriptor, peer: peer, share: share, number: state.lastNumber,
                deadline: deadline)
            guard state.entries.count - state.closing > limits.connections else { return }
            // Those that wait for an answer are not among them, nor those that read one.
            let victim = state.victim {
                $0.connections
            } where: { entry in
                entry.isReceiving && entry.number != state.lastNumber
            }
            if let victim { state.close(victim) }
        }
    }

    func noteEnd(_ connection: OpaquePointer) {
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            state.endReply(key.pointer)
            guard let entry = state.entries.removeValue(forKey: key.pointer) else { return }
            if entry.isClosing { state.closing -= 1 }
            entry.share.connections -= 1
            if entry.share.connections == 0 { state.shares[entry.peer.name] = nil }
        }
    }

    func noteBody(_ connection: OpaquePointer, isUpload: Bool) {
        set(connection, Self.now + (isUpload ? limits.transferSeconds : limits.bodySeconds))
    }

    func noteAnswering(_ connection: OpaquePointer, _ work: RequestWork) {
        let key = ConnectionKey(pointer: connection)
        let now = Self.now
        state.withLock { state in
            state.change(key.pointer) { entry in
                (entry.deadline, entry.hasEnded) = (nil, false)
                (entry.work, entry.since) = (work, now)
            }
            state.answering += 1
        }
    }

    /// Notes that a body may come, for whose head the connection waited.
    func noteAdmission(_ connection: OpaquePointer) {
        let key = ConnectionKey(pointer: connection)
        let deadline = Self.now + limits.bodySeconds
        state.withLock { state in
            state.change(key.pointer) { ($0.work, $0.deadline) = (nil, deadline) }
        }
    }

    /// Notes that a reply begins, and ends others if too many bytes wait to be read.
    func noteReply(_ connection: OpaquePointer, bytes: Int) {
        let deadline = Self.now + limits.transferSeconds
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            var isThere = false
            state.change(key.pointer) { entry in
                (entry.deadline, entry.work) = (deadline, nil)
                (entry.isReplying, entry.replyBytes) = (true, bytes)
                entry.share.replyBytes += bytes
                isThere = true
            }
            guard isThere else { return }
            state.replying += 1
            state.replyBytes += bytes
            var excess = state.replyBytes - limits.repliesBytes
            while excess > 0 {
                let victim = state.victim {
                    $0.replyBytes
                } where: {
                    $0.replyBytes > 0
                }
                guard let victim, victim != key.pointer else { return }
                excess -= state.entries[victim]?.replyBytes ?? 0
                state.close(victim)
            }
        }
    }

    /// Notes that a connection that waited for its answer goes on.
    func noteResumption() { state.withLock { $0.answering -= 1 } }

    func noteCompletion(_ connection: OpaquePointer) {
        let key = ConnectionKey(pointer: connection)
        let deadline = Self.now + limits.headSeconds
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.endReply(key.pointer) { entry in
                (entry.number, entry.hasEnded, entry.deadline) = (number, false, deadline)
            }
        }
    }

    private func set(_ connection: OpaquePointer, _ deadline: Int?) {
        let key = ConnectionKey(pointer: connection)
        state.withLock { $0.change(key.pointer) { $0.deadline = deadline } }
    }

    /// Ends the connections that took too long, or whose clients stopped in the middle of a request, and
    /// gives up work for clients that have gone.
    func closeLate() {
        let now = Self.now
        state.withLock { state in
            for (connection, entry) in state.entries {
                if let deadline = entry.deadline, deadline < now { state.close(connection) }
            }
            let watched = state.entries.filter {
                $0.value.isReceiving
                    || $0.value.work != nil && $0.value.since + limits.absenceSeconds < now
            }
            var polled = watched.map {
                pollfd(fd: $0.value.descriptor, events: Int16(Self.hangUp), revents: 0)
            }
            guard !polled.isEmpty, poll(&polled, nfds_t(polled.count), 0) > 0 else { return }
            for ((connection, entry), result) in zip(watched, polled)
            where Int32(result.revents) & (Self.hangUp | POLLHUP | POLLERR) != 0 {
                if let work = entry.work {
                    work.leave()
                } else if entry.hasEnded {
                    state.close(connection)
                } else {
                    // The library misses an end that came before it had the connection. What it read
                    // just now may be all of a request: it has until the next look to take it up.
                    var byte: UInt8 = 0
                    let flags = Int32(MSG_PEEK | MSG_DONTWAIT)
                    state.entries[connection]?.hasEnded =
                        recv(entry.descriptor, &byte, 1, flags) == 0
                }
            }
        }
    }

    /// Gives up all that is being answered: the server ends.
    func giveUpWork() {
        let works = state.withLock { $0.entries.values.compactMap(\.work) }
        for work in works { work.giveUp() }
    }

    /// How many connections there were.
    var startCount: Int { state.withLock { $0.starts } }

    /// Seconds of the steady clock, as it was at the last tick of the system: that is told faster.
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec
    }

    /// Nanoseconds of the steady clock.
    static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// A connection as a name: it is compared and never followed.
private struct ConnectionKey: @unchecked Sendable {
    let pointer: OpaquePointer
}
