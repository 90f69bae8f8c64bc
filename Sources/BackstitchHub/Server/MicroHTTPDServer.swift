import BackstitchHubCore
import CMicroHTTPD
import Dispatch
import Foundation
import Glibc
import Threading

/// Serves HTTP/1.1 through libmicrohttpd, and TLS if it has a certificate.
///
/// Without TLS a ``RequestFilter`` accepts connections and looks at the first head of each, because the
/// library answers some bad heads twice and takes others. It parses the requests that follow on a connection,
/// and all under TLS, on its own.
///
/// Invariant: the filter and the timer are set in `init`, and then touched by the first call of ``stop()``
/// alone; all else never changes or is behind a lock.
final class MicroHTTPDServer: HTTPServer, @unchecked Sendable {
    let limits: HTTPLimits
    let handler: HTTPHandler
    let connections: ConnectionTable
    let bodies: ByteBudget
    private let streams = FileStreams()
    let port: UInt16
    private let host: String
    private let state = Locked(State())
    private var timer: (any DispatchSourceTimer)?
    /// Looks at heads before the library does; nil if they are encrypted.
    private var filter: RequestFilter?

    /// TLS 1.3 and 1.2, keys that are made for each connection and ciphers that authenticate: recorded
    /// connections stay unreadable even if the certificate's key becomes known later.
    private static let tlsPriorities =
        "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA"
        + ":-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD"

    /// A certificate chain and its key, both in PEM.
    struct TLS: Sendable {
        var certificate: String
        var key: String
    }

    /// The library's part. A daemon has one certificate for all its life, so that each new one takes a
    /// new daemon at the same socket, and the old one goes on until its connections have ended.
    private struct State {
        var daemon: OpaquePointer?
        var retired: [OpaquePointer] = []
        /// What the daemon listens at; -1 if it is the filter that listens.
        var socket: Int32 = -1
        var isStopping = false
        var isReplacing = false
    }

    /// Begins to serve.
    convenience init(
        host: String, port: UInt16, tls: TLS?, limits: HTTPLimits, handler: HTTPHandler,
        lookMilliseconds: Int = MicroHTTPDServer.lookMilliseconds
    ) throws(HubError) {
        try self.init(
            ListenSocket(host: host, port: port), host: host, tls: tls, limits: limits,
            handler: handler, lookMilliseconds: lookMilliseconds)
    }

    /// How often connections are looked at that take too long, unless given.
    static let lookMilliseconds = 250

    /// Begins to serve at a socket.
    ///
    /// - Parameters:
    ///   - host: Where it listens, for ``isResponsive(within:)``.
    ///   - lookMilliseconds: The time between two looks at all connections.
    init(
        _ socket: consuming ListenSocket, host: String = "", tls: TLS?, limits: HTTPLimits,
        handler: HTTPHandler, lookMilliseconds: Int = MicroHTTPDServer.lookMilliseconds
    ) throws(HubError) {
        let limits = limits.fitting(descriptors: ProcessDescriptors.limit)
        self.limits = limits
        self.handler = handler
        connections = ConnectionTable(limits: limits)
        bodies = ByteBudget(bytes: limits.bodiesBytes, perClient: limits.bodiesBytesPerAddress)
        self.port = socket.port
        self.host = host
        // What the library listens at is its own from here on; a filter takes it over below.
        let given = tls == nil ? nil : socket.release()
        let daemon = try Self.start(
            given, tls, limits, context: Unmanaged.passUnretained(self).toOpaque())
        let descriptor = given ?? socket.release()
        state.withLock { state in
            state.daemon = daemon
            state.socket = tls == nil ? -1 : descriptor
        }
        if tls == nil { try startFilter(descriptor) }
        startTimer(.milliseconds(lookMilliseconds))
    }

    /// Whether an address may have one more connection, beside some whose head has not come.
    func mayConnect(_ address: NetworkAddress?, waiting: Int = 0) -> Bool {
        !handler.countsConnections(address?.text ?? "")
            || connections.mayConnect(HubRequest.addressName(of: address), waiting: waiting)
    }

    /// Whether requests are no longer taken.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    var connectionCount: Int { connections.count }

    func isResponsive(within milliseconds: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            SystemThread.detach { [port, host] in
                continuation.resume(
                    returning: ListenSocket.reacts(host: host, port: port, within: milliseconds))
            }
        }
    }

    private func startFilter(_ descriptor: Int32) throws(HubError) {
        filter = try RequestFilter(
            socket: descriptor, limits: limits,
            mayConnect: { [weak self] address, waiting in
                self?.mayConnect(address, waiting: waiting) ?? false
            }, noteRefusal: handler.noteRefusal
        ) { [weak self] descriptor, address in
            guard let self, let daemon = self.state.withLock({ $0.daemon }),
                connections.noteArrival(descriptor)
            else {
                close(descriptor)
                return
            }
            var address = address
            let count = SocketAddress.byteCount(of: address)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    // The library closes the descriptor, also where it does not take the connection.
                    MHD_add_connection(daemon, descriptor, $0, count)
                }
            }
            if result != .YES { connections.noteRejection(descriptor) }
        }
    }

    /// Starts a daemon.
    ///
    /// - Parameters:
    ///   - descriptor: What it listens at; nil if connections are handed to it. The library closes
    ///     it, also where it does not start (0.9.75).
    ///   - context: The server that its callbacks get.
    private static func start(
        _ descriptor: Int32?, _ tls: TLS?, _ limits: HTTPLimits, context: UnsafeMutableRawPointer?
    ) throws(HubError) -> OpaquePointer {
        let threads = max(2, limits.threads)
        // Each thread of the library has its part of them, and waits for itself for ever when it is
        // handed a connection beyond that (0.9.75). So the part of each is enough for all that there may
        // be, and it is the table that counts.
        let libraryConnections = threads * (limits.connections + HTTPLimits.spareConnections)
        var flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_USE_PEDANTIC_CHECKS.rawValue
        var options = [
            option(.STRICT_FOR_CLIENT, 1),
            option(.CONNECTION_MEMORY_LIMIT, limits.headBytes),
            option(.CONNECTION_LIMIT, libraryConnections),
            option(.CONNECTION_TIMEOUT, limits.idleSeconds),
            option(.THREAD_POOL_SIZE, threads),
            option(.URI_LOG_CALLBACK, unsafeBitCast(targetCallback, to: Int.self), context),
            option(
                .NOTIFY_COMPLETED, unsafeBitCast(completionCallback, to: Int.self),
                context),
            option(
                .NOTIFY_CONNECTION, unsafeBitCast(connectionCallback, to: Int.self),
                context),
            option(.UNESCAPE_CALLBACK, unsafeBitCast(unescapeCallback, to: Int.self)),
        ]
        if let descriptor {
            options.append(option(.LISTEN_SOCKET, Int(descriptor)))
        } else {
            flags |= MHD_USE_NO_LISTEN_SOCKET.rawValue
        }
        var texts: [UnsafeMutablePointer<CChar>?] = []
        defer { texts.forEach { free($0) } }
        if let tls {
            flags |= MHD_USE_TLS.rawValue
            texts = [strdup(tls.key), strdup(tls.certificate), strdup(tlsPriorities)]
            options += [
                option(.HTTPS_MEM_KEY, 0, texts[0]),
                option(.HTTPS_MEM_CERT, 0, texts[1]),
                option(.HTTPS_PRIORITIES, 0, texts[2]),
            ]
        }
        options.append(option(.END, 0))
        let daemon = backstitch_start_daemon(
            flags, policyCallback, accessCallback, context, &options)
        guard let daemon else {
            throw HubError(
                .inaccessible,
                tls == nil
                    ? "The HTTP server can't be started. Check the limits of the system."
                    : "The HTTP server can't be started. Check that certificate and key are in PEM "
                        + "and belong together.")
        }
        return daemon
    }

    /// Checks that the library takes a certificate and its key.
    static func check(_ tls: TLS) throws(HubError) {
        MHD_stop_daemon(try start(nil, tls, HTTPLimits(), context: nil))
    }

    /// Uses another certificate for new connections; open ones keep theirs.
    ///
    /// - Throws: A failure if the library does not take it; then all stays as it was.
    func replace(_ tls: TLS) throws(HubError) {
        let isFree = state.withLock { state in
            guard !state.isReplacing, !state.isStopping, state.socket >= 0 else { return false }
            state.isReplacing = true
            return true
        }
        guard isFree else {
            throw HubError(
                .invalid, "There is no certificate to replace, or it is being replaced already.")
        }
        defer { state.withLock { $0.isReplacing = false } }
        let socket = fcntl(state.withLock { $0.socket }, F_DUPFD_CLOEXEC, 0)
        guard socket >= 0 else {
            let reason = String(cString: strerror(errno))
            throw HubError(.invalid, "The certificate can't be replaced: \(reason).")
        }
        let new = try Self.start(
            socket, tls, limits, context: Unmanaged.passUnretained(self).toOpaque())
        // Both accept for a moment. What the old one has accepted stays its own.
        guard let old = state.withLock({ $0.daemon }) else { return }
        let oldSocket = MHD_quiesce_daemon(old)
        if oldSocket >= 0 { close(oldSocket) }
        state.withLock { state in
            state.daemon = new
            state.socket = socket
            state.retired.append(old)
        }
    }

    /// Ends the daemons of earlier certificates that have no connection left.
    private func stopRetired() {
        let ended = state.withLock { state in
            let ended = state.retired.filter { backstitch_connection_count($0) == 0 }
            state.retired.removeAll { ended.contains($0) }
            return ended
        }
        for daemon in ended { MHD_stop_daemon(daemon) }
    }

    private static func option(
        _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
    ) -> MHD_OptionItem {
        MHD_OptionItem(option: option, value: value, ptr_value: pointer)
    }

    private func startTimer(_ interval: DispatchTimeInterval) {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + interval, repeating: interval)
        timer.setEventHandler { [weak self, connections, handler] in
            connections.closeLate()
            handler.tick()
            self?.stopRetired()
        }
        timer.resume()
        self.timer = timer
    }

    /// Queues a reply.
    func queue(
        _ response: HubResponse, on connection: OpaquePointer, closes: Bool
    ) -> MHD_Result {
        let reply =
            if case .remote(let file) = response.body {
                FileStream.reply(file, on: connection, streams)
            } else {
                Self.reply(response)
            }
        guard let reply else { return .NO }
        defer { MHD_destroy_response(reply) }
        for header in response.headers {
            // A text that is passed as it is would be copied first.
            header.name.withCString { name in
                _ = header.value.withCString { MHD_add_response_header(reply, name, $0) }
            }
        }
        if closes { MHD_add_response_header(reply, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), reply)
    }

    /// Replies from this size on are not copied.
    private static let keptBytesMin = 64 << 10

    /// The bytes of a reply, whose place does not change while this is there.
    private final class KeptBytes: Sendable {
        let bytes: ContiguousArray<UInt8>
        init(_ bytes: [UInt8]) { self.bytes = ContiguousArray(bytes) }
    }

    private static func reply(_ response: HubResponse) -> OpaquePointer? {
        switch response.body {
        case .bytes(var bytes) where bytes.count < keptBytesMin:
            return bytes.withUnsafeMutableBytes {
                MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
            }
        case .bytes(let bytes):
            // Sent from where they are, instead of a copy.
            let kept = Unmanaged.passRetained(KeptBytes(bytes))
            let reply = kept.takeUnretainedValue().bytes.withUnsafeBytes {
                MHD_create_response_from_buffer_with_free_callback_cls(
                    $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress),
                    { context in
                        guard let context else { return }
                        Unmanaged<KeptBytes>.fromOpaque(context).release()
                    }, kept.toOpaque())
            }
            if reply == nil { kept.release() }
            return reply
        case .file(let path): return reply(path, offset: 0, byteCount: nil)
        case .filePart(let path, let offset, let byteCount):
            return reply(path, offset: offset, byteCount: byteCount)
        case .remote: return nil
        }
    }

    private static func reply(_ path: String, offset: Int, byteCount: Int?) -> OpaquePointer? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, offset + (byteCount ?? 0) <= status.st_size else {
            close(descriptor)
            return nil
        }
        return MHD_create_response_from_fd_at_offset64(
            UInt64(byteCount ?? status.st_size), descriptor, UInt64(offset))
    }

    /// Takes no more connections, answers what is under way, and ends.
    func stop() async {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        // A certificate that is being replaced is so in a moment.
        while isFirst, state.withLock({ $0.isReplacing }) {
            try? await Task.sleep(nanoseconds: 5_000_000)
        }
        guard isFirst, let daemon = state.withLock({ $0.daemon }) else { return }
        let socket = filter == nil ? MHD_quiesce_daemon(daemon) : -1
        await filter?.stop()
        handler.willStop()
        // The library must not be stopped while a connection waits for its answer. What does not get
        // one in time gets none: reads end between two records, and writes that run end by themselves.
        let deadline = ConnectionTable.now + limits.stopSeconds / 2
        while connections.answeringCount > 0 {
            try? await Task.sleep(nanoseconds: 5_000_000)
            handler.willStop()
            guard ConnectionTable.now >= deadline else { continue }
            connections.giveUpWork()
            handler.refuseWork()
        }
        let end = ConnectionTable.now + limits.stopSeconds - limits.stopSeconds / 2
        while connections.replyingCount > 0, ConnectionTable.now < end {
            try? await Task.sleep(nanoseconds: 5_000_000)
        }
        streams.failAll()
        timer?.cancel()
        let daemons = state.withLock { state in
            defer { (state.daemon, state.retired, state.socket) = (nil, [], -1) }
            return state.retired + [daemon]
        }
        for daemon in daemons { MHD_stop_daemon(daemon) }
        if socket >= 0 { close(socket) }
        filter = nil
    }
}

extension HubResponse {
    /// The answer to a request that can't be acted upon.
    static func refusal(_ status: Int) -> HubResponse {
        var response = HubResponse.text("\(status)\n", status: status)
        if status == 503 { response.headers.append(HubRequest.Header("Retry-After", "5")) }
        return response
    }
}
