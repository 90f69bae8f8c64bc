import BackstitchHubCore
import CMicroHTTPD
import Foundation
import Glibc
import Threading

/// Accepts connections, and hands those on whose first request has a good head.
///
/// It only looks: the bytes stay in the socket, for the engine to read. Connections whose head is bad
/// get one answer and are closed. All is done by one thread, which waits for all of them.
final class RequestFilter: Sendable {
    /// How often it looks for connections that take too long, in milliseconds.
    private static let tickMilliseconds: Int32 = 500
    /// How long the client of a refused request may take to read the answer, in seconds.
    private static let farewellSeconds = 2
    /// The most bytes that such a client may still send.
    private static let farewellBytesMax = 1 << 20

    /// What the engine does with a connection: it closes the descriptor in the end.
    typealias HandOn = @Sendable (_ descriptor: Int32, _ address: sockaddr_storage) -> Void

    /// Whether an address may have one more connection, beside those that wait here.
    typealias MayConnect = @Sendable (_ address: NetworkAddress?, _ waiting: Int) -> Bool

    private let limits: HTTPLimits
    private let queue: Int32
    private let isStopping = Locked(false)
    private let thread: SystemThread

    /// Begins to accept.
    ///
    /// - Parameter socket: Listens; the filter closes it.
    init(
        socket: Int32, limits: HTTPLimits, mayConnect: @escaping MayConnect,
        noteRefusal: @escaping @Sendable (Int, String) -> Void, handOn: @escaping HandOn
    ) throws(HubError) {
        self.limits = limits
        queue = backstitch_queue()
        guard queue >= 0, fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK) == 0 else {
            throw HubError(
                .inaccessible, "The HTTP server can't be started. Check the limits of the system.")
        }
        _ = backstitch_watch(queue, socket)
        let (queue, isStopping) = (queue, isStopping)
        thread = SystemThread {
            var worker = Worker(
                socket: socket, queue: queue, limits: limits, mayConnect: mayConnect,
                noteRefusal: noteRefusal, handOn: handOn)
            while !isStopping.withLock({ $0 }) { worker.step() }
            worker.end()
        }
    }

    deinit {
        // No call joins the thread of a filter that was not stopped.
        if !isStopping.withLock({ $0 }) { thread.detach() }
        isStopping.withLock { $0 = true }
    }

    /// Accepts no more, and closes what has not sent a head. Call it once.
    func stop() async {
        isStopping.withLock { $0 = true }
        let thread = thread
        await withCheckedContinuation { continuation in
            SystemThread.detach {
                thread.join()
                continuation.resume()
            }
        }
    }

    /// What the thread has.
    private struct Worker {
        private enum Phase {
            case head
            /// Refused; what still comes is dropped, so that the answer arrives.
            case farewell(bytesLeft: Int)
        }

        private struct Guest {
            var address: sockaddr_storage
            /// Whose it is, for counts.
            var group: NetworkAddress?
            /// In which order connections came.
            var number: Int
            var deadline: Int
            var phase = Phase.head
            var patience: HeadPatience
        }

        let socket: Int32
        let queue: Int32
        let limits: HTTPLimits
        let mayConnect: MayConnect
        let noteRefusal: @Sendable (Int, String) -> Void
        let handOn: HandOn
        private var lastNumber = 0
        private var guests: [Int32: Guest] = [:]
        private var countByAddress: [NetworkAddress?: Int] = [:]
        private var buffer: [UInt8]
        private var descriptors = [Int32](repeating: 0, count: Int(BACKSTITCH_EVENTS_MAX))
        private var ended = [Int32](repeating: 0, count: Int(BACKSTITCH_EVENTS_MAX))
        private var nextTick = 0

        init(
            socket: Int32, queue: Int32, limits: HTTPLimits, mayConnect: @escaping MayConnect,
            noteRefusal: @escaping @Sendable (Int, String) -> Void, handOn: @escaping HandOn
        ) {
            self.socket = socket
            self.queue = queue
            self.limits = limits
            self.mayConnect = mayConnect
            self.noteRefusal = noteRefusal
            self.handOn = handOn
            buffer = [UInt8](repeating: 0, count: limits.headBytes)
        }

        mutating func step() {
            let count = backstitch_wait(
                queue, &descriptors, &ended, RequestFilter.tickMilliseconds)
            for index in 0..<max(0, Int(count)) {
                if descriptors[index] == socket {
                    accept()
                } else {
                    look(at: descriptors[index], hasEnded: ended[index] != 0)
                }
            }
            let now = ConnectionTable.now
            guard now >= nextTick else { return }
            nextTick = now + 1
            for (descriptor, guest) in guests where guest.deadline < now { drop(descriptor) }
            // If there were no descriptors left, the edge was missed.
            accept()
        }

        mutating func end() {
            for descriptor in guests.keys { drop(descriptor) }
            close(socket)
            close(queue)
        }

        private mutating func accept() {
            while true {
                var address = sockaddr_storage()
                let descriptor = backstitch_accept(socket, &address)
                guard descriptor >= 0 else { return }
                let host = NetworkAddress(SocketAddress.host(of: address))
                let group = host?.group
                guard mayConnect(host, countByAddress[group, default: 0]) else {
                    close(descriptor)
                    continue
                }
                if guests.count >= limits.connections { makeRoom() }
                lastNumber += 1
                countByAddress[group, default: 0] += 1
                guests[descriptor] = Guest(
                    address: address, group: group, number: lastNumber,
                    deadline: ConnectionTable.now + limits.headSeconds,
                    patience: HeadPatience(headBytes: limits.headBytes))
                _ = backstitch_watch(queue, descriptor)
                look(at: descriptor)
            }
        }

        /// Drops the oldest connection of the address that has the most, so that many connections that send
        /// nothing do not keep other addresses out.
        private mutating func makeRoom() {
            guard let most = countByAddress.max(by: { $0.value < $1.value })?.key else { return }
            let oldest = guests.filter { $0.value.group == most }
                .min { $0.value.number < $1.value.number }
            if let oldest { drop(oldest.key) }
        }

        /// - Parameter hasEnded: Whether the client sends nothing more.
        private mutating func look(at descriptor: Int32, hasEnded: Bool = false) {
            guard let guest = guests[descriptor] else { return }
            if case .farewell(let bytesLeft) = guest.phase {
                return discard(descriptor, bytesLeft)
            }
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_PEEK))
            guard count != 0 else { return drop(descriptor) }
            guard count > 0 else {
                if errno != EAGAIN, errno != EINTR { drop(descriptor) }
                return
            }
            let verdict = buffer.withUnsafeBytes {
                HeadScan.verdict(UnsafeRawBufferPointer(rebasing: $0[..<count]), limits)
            }
            switch verdict {
            case .incomplete where hasEnded: drop(descriptor)
            case .incomplete where count == buffer.count: refuse(descriptor, 431)
            case .incomplete:
                let goesOn = guests[descriptor]?.patience.look(at: count) ?? false
                if !goesOn { refuse(descriptor, 400) }
            case .good:
                _ = backstitch_unwatch(queue, descriptor)
                forget(descriptor)
                handOn(descriptor, guest.address)
            case .refused(let status): refuse(descriptor, status)
            }
        }

        private mutating func refuse(_ descriptor: Int32, _ status: Int) {
            noteRefusal(
                status, guests[descriptor].map { SocketAddress.host(of: $0.address) } ?? "")
            let answer = HubResponse.refusal(status).bytes
            // It fits into the empty buffer of the socket.
            _ = answer.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            shutdown(descriptor, Int32(SHUT_WR))
            guests[descriptor]?.phase = .farewell(bytesLeft: RequestFilter.farewellBytesMax)
            guests[descriptor]?.deadline = ConnectionTable.now + RequestFilter.farewellSeconds
            discard(descriptor, RequestFilter.farewellBytesMax)
        }

        /// Reads and drops what comes: a connection that is closed with bytes unread is reset, and the
        /// answer may be lost.
        private mutating func discard(_ descriptor: Int32, _ bytesLeft: Int) {
            var bytesLeft = bytesLeft
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == EAGAIN || errno == EINTR { break }
                guard count > 0, bytesLeft > 0 else { return drop(descriptor) }
                bytesLeft -= count
            }
            guests[descriptor]?.phase = .farewell(bytesLeft: bytesLeft)
        }

        private mutating func drop(_ descriptor: Int32) {
            forget(descriptor)
            close(descriptor)
        }

        private mutating func forget(_ descriptor: Int32) {
            guard let guest = guests.removeValue(forKey: descriptor) else { return }
            let count = countByAddress[guest.group, default: 1] - 1
            countByAddress[guest.group] = count > 0 ? count : nil
        }
    }
}

extension HubResponse {
    /// The response as HTTP/1.1 has it, for a connection that is closed behind it.
    fileprivate var bytes: [UInt8] {
        guard case .bytes(let body) = body else { return [] }
        let reason =
            switch status {
            case 400: "Bad Request"
            case 413: "Content Too Large"
            case 414: "URI Too Long"
            case 431: "Request Header Fields Too Large"
            case 501: "Not Implemented"
            case 505: "HTTP Version Not Supported"
            default: "Refused"
            }
        var head = "HTTP/1.1 \(status) \(reason)\r\nConnection: close\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }
}
