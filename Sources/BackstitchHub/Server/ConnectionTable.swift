import CMicroHTTPD
import Glibc
import LMDB

/// The open connections and by when each has to get on.
///
/// libmicrohttpd closes connections that are idle, but not those that send a byte now and then.
///
/// Invariant: all that changes is behind a lock. Pointers to connections are names there, and not
/// `Sendable` for the compiler.
final class ConnectionTable: @unchecked Sendable {
    // Every access to the state holds the lock; descriptors are those of open connections, because
    // the library tells of the end of one before it closes it.
    private struct Entry {
        var descriptor: Int32
        /// In seconds of the steady clock; nil while the hub answers.
        var deadline: Int?
        /// Whether a reply is on its way.
        var isReplying = false
    }

    private struct State {
        var entries: [OpaquePointer: Entry] = [:]
        var answering = 0
        var replying = 0

        mutating func endReply(_ connection: OpaquePointer) {
            guard entries[connection]?.isReplying == true else { return }
            entries[connection]?.isReplying = false
            replying -= 1
        }
    }

    private let limits: HTTPLimits
    private let state = Locked(State())

    init(limits: HTTPLimits) { self.limits = limits }

    /// How many requests are being answered.
    var answeringCount: Int { state.withLock { $0.answering } }

    /// How many replies were begun and are not sent to their end.
    var replyingCount: Int { state.withLock { $0.replying } }

    func noteStart(_ connection: OpaquePointer) {
        let descriptor = backstitch_connection_descriptor(connection)
        let deadline = Self.now + limits.headSeconds
        let key = ConnectionKey(pointer: connection)
        state.withLock {
            $0.entries[key.pointer] = Entry(descriptor: descriptor, deadline: deadline)
        }
    }

    func noteEnd(_ connection: OpaquePointer) {
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            state.endReply(key.pointer)
            state.entries[key.pointer] = nil
        }
    }

    func noteBody(_ connection: OpaquePointer, isUpload: Bool) {
        set(connection, Self.now + (isUpload ? limits.transferSeconds : limits.bodySeconds), 0)
    }

    func noteAnswering(_ connection: OpaquePointer) { set(connection, nil, 1) }

    func noteReply(_ connection: OpaquePointer) {
        set(connection, Self.now + limits.transferSeconds, 0)
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            state.entries[key.pointer]?.isReplying = true
            state.replying += state.entries[key.pointer] == nil ? 0 : 1
        }
    }

    /// Notes that a connection that waited for its answer goes on.
    func noteResumption() { state.withLock { $0.answering -= 1 } }

    func noteCompletion(_ connection: OpaquePointer) {
        let key = ConnectionKey(pointer: connection)
        state.withLock { $0.endReply(key.pointer) }
        set(connection, Self.now + limits.headSeconds, 0)
    }

    private func set(_ connection: OpaquePointer, _ deadline: Int?, _ answering: Int) {
        let key = ConnectionKey(pointer: connection)
        state.withLock { state in
            state.entries[key.pointer]?.deadline = deadline
            state.answering += answering
        }
    }

    /// Ends the connections that took too long.
    func closeLate() {
        let now = Self.now
        state.withLock { state in
            for (connection, entry) in state.entries {
                guard let deadline = entry.deadline, deadline < now else { continue }
                shutdown(entry.descriptor, Int32(SHUT_RDWR))
                state.entries[connection]?.deadline = nil
            }
        }
    }

    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec
    }
}

/// A connection as a name: it is compared and never followed.
private struct ConnectionKey: @unchecked Sendable {
    let pointer: OpaquePointer
}
