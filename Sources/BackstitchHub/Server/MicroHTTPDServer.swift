import CMicroHTTPD
import Dispatch
import Foundation
import Glibc
import LMDB

/// Serves HTTP/1.1 through libmicrohttpd, and TLS where it has a certificate.
///
/// Invariant: the daemon and the timer are set in `init`, and then touched by the first call of
/// ``stop()`` alone; all else never changes or is behind a lock.
final class MicroHTTPDServer: HTTPServer, @unchecked Sendable {
    let limits: HTTPLimits
    let handler: HTTPHandler
    let connections: ConnectionTable
    let port: UInt16
    private var daemon: OpaquePointer?
    private let stopping = Locked(false)
    private var timer: (any DispatchSourceTimer)?

    /// A certificate chain and its key, both in PEM.
    struct TLS: Sendable {
        var certificate: String
        var key: String
    }

    /// Begins to serve.
    init(
        host: String, port: UInt16, tls: TLS?, limits: HTTPLimits, handler: HTTPHandler
    ) throws(HubFailure) {
        self.limits = limits
        self.handler = handler
        connections = ConnectionTable(limits: limits)
        var socket = try ListenSocket(host: host, port: port)
        self.port = socket.port
        try start(socket.descriptor, tls)
        _ = socket.release()
        startTimer()
    }

    /// Whether requests are no longer taken.
    var isStopping: Bool { stopping.withLock { $0 } }

    private func start(_ descriptor: Int32, _ tls: TLS?) throws(HubFailure) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        var flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_USE_PEDANTIC_CHECKS.rawValue
        var options = [
            option(.LISTEN_SOCKET, Int(descriptor)),
            option(.STRICT_FOR_CLIENT, 1),
            option(.CONNECTION_MEMORY_LIMIT, limits.headBytes),
            option(.CONNECTION_LIMIT, limits.connections),
            option(.PER_IP_CONNECTION_LIMIT, limits.connectionsPerAddress),
            option(.CONNECTION_TIMEOUT, limits.idleSeconds),
            option(.THREAD_POOL_SIZE, max(2, limits.threads)),
            option(.URI_LOG_CALLBACK, unsafeBitCast(targetCallback, to: Int.self), context),
            option(
                .NOTIFY_COMPLETED, unsafeBitCast(completionCallback, to: Int.self),
                context),
            option(
                .NOTIFY_CONNECTION, unsafeBitCast(connectionCallback, to: Int.self),
                context),
            option(.UNESCAPE_CALLBACK, unsafeBitCast(unescapeCallback, to: Int.self)),
        ]
        var texts: [UnsafeMutablePointer<CChar>?] = []
        defer { texts.forEach { free($0) } }
        if let tls {
            flags |= MHD_USE_TLS.rawValue
            let versions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
            texts = [strdup(tls.key), strdup(tls.certificate), strdup(versions)]
            options += [
                option(.HTTPS_MEM_KEY, 0, texts[0]),
                option(.HTTPS_MEM_CERT, 0, texts[1]),
                option(.HTTPS_PRIORITIES, 0, texts[2]),
            ]
        }
        options.append(option(.END, 0))
        daemon = backstitch_start_daemon(flags, accessCallback, context, &options)
        guard daemon != nil else {
            throw HubFailure(
                tls == nil
                    ? "The HTTP server can't be started. Check the limits of the system."
                    : "The HTTP server can't be started. Check that certificate and key are in PEM "
                        + "and belong together.")
        }
    }

    private func option(
        _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
    ) -> MHD_OptionItem {
        MHD_OptionItem(option: option, value: value, ptr_value: pointer)
    }

    private func startTimer() {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + .milliseconds(250), repeating: .milliseconds(250))
        timer.setEventHandler { [connections, handler] in
            connections.closeLate()
            handler.tick()
        }
        timer.resume()
        self.timer = timer
    }

    /// Queues a reply.
    func queue(
        _ response: HubResponse, on connection: OpaquePointer, closes: Bool
    ) -> MHD_Result {
        guard let reply = Self.reply(response) else { return .NO }
        defer { MHD_destroy_response(reply) }
        for header in response.headers {
            MHD_add_response_header(reply, header.name, header.value)
        }
        if closes { MHD_add_response_header(reply, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), reply)
    }

    private static func reply(_ response: HubResponse) -> OpaquePointer? {
        switch response.body {
        case .bytes(var bytes):
            return bytes.withUnsafeMutableBytes {
                MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
            }
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                close(descriptor)
                return nil
            }
            return MHD_create_response_from_fd64(UInt64(status.st_size), descriptor)
        }
    }

    /// Takes no more connections, answers what is under way, and ends.
    func stop() async {
        let isFirst = stopping.withLock { isStopping in
            defer { isStopping = true }
            return !isStopping
        }
        guard isFirst, let daemon else { return }
        let socket = MHD_quiesce_daemon(daemon)
        handler.willStop()
        // The library must not be stopped while a connection waits for its answer.
        while connections.answeringCount > 0 {
            try? await Task.sleep(nanoseconds: 5_000_000)
            handler.willStop()
        }
        let deadline = ConnectionTable.now + limits.stopSeconds
        while connections.replyingCount > 0, ConnectionTable.now < deadline {
            try? await Task.sleep(nanoseconds: 5_000_000)
        }
        timer?.cancel()
        MHD_stop_daemon(daemon)
        if socket >= 0 { close(socket) }
        self.daemon = nil
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
