import CMicroHTTPD
import Glibc
import LMDB

/// One request and its reply, on a connection of libmicrohttpd.
///
/// The library's threads and the task that answers take turns: while the task runs, the connection is
/// suspended, and nobody else touches the exchange.
final class Exchange: @unchecked Sendable {
    private enum Phase {
        case head
        case body
        case answering
        case answered(HubResponse)
        case ended
    }

    let target: String
    private let server: MicroHTTPDServer
    private var phase = Phase.head
    private var head: RequestHead?
    private var receiver: ReceiverBox?

    /// A box, because a class can't give a noncopyable member away.
    private final class ReceiverBox {
        var receiver: BodyReceiver?
        init(_ receiver: consuming BodyReceiver) { self.receiver = consume receiver }
        func take() -> BodyReceiver? { receiver.take() }
    }

    init(target: String, server: MicroHTTPDServer) {
        self.target = target
        self.server = server
    }

    deinit { receiver?.take()?.abandon() }

    /// What libmicrohttpd calls for the head, for each part of the body, and at its end.
    func proceed(
        _ connection: OpaquePointer, method: String, version: String,
        part: UnsafeRawBufferPointer, isConsumed: inout Bool
    ) -> MHD_Result {
        switch phase {
        case .head: return begin(connection, method: method, version: version)
        case .body where part.count > 0:
            receiver?.receiver?.receive(part)
            isConsumed = true
            return .YES
        case .body: return answer(connection)
        case .answered(let response):
            phase = .ended
            return server.queue(response, on: connection, closes: server.isStopping)
        case .answering, .ended: return .NO
        }
    }

    private func begin(
        _ connection: OpaquePointer, method: String, version: String
    ) -> MHD_Result {
        let head = RequestHead(
            method: method, target: target, version: version,
            headers: Self.headers(of: connection))
        do throws(RequestHead.Refusal) {
            let length = try head.check(server.limits)
            let place = server.handler.place(target)
            if let length, length > place.bytesMax { throw .bodyTooLarge }
            guard !server.isStopping else { return refuse(connection, status: 503) }
            server.connections.noteBody(connection, isUpload: place.isFile)
            receiver = ReceiverBox(BodyReceiver(place, length: length))
            self.head = head
            phase = .body
            return .YES
        } catch {
            return refuse(connection, status: error.rawValue)
        }
    }

    /// Answers at once and closes the connection, since the end of the request is not known.
    private func refuse(_ connection: OpaquePointer, status: Int) -> MHD_Result {
        phase = .ended
        return server.queue(.refusal(status), on: connection, closes: true)
    }

    private func answer(_ connection: OpaquePointer) -> MHD_Result {
        guard let head, let receiver = receiver?.take() else { return .NO }
        let isTooLarge = receiver.isTooLarge
        guard let body = receiver.finish() else {
            return refuse(connection, status: isTooLarge ? 413 : 503)
        }
        var request = HubRequest(
            method: head.method, target: target, headers: head.headers,
            remoteAddress: Self.address(of: connection))
        request.body = body
        phase = .answering
        server.connections.noteAnswering(connection)
        MHD_suspend_connection(connection)
        // The task is the connection's: the server waits for all of them before it ends.
        let suspended = SuspendedConnection(pointer: connection)
        Task { [server, request] in
            let response = await server.handler.respond(request)
            phase = .answered(response)
            server.connections.noteReply(suspended.pointer)
            MHD_resume_connection(suspended.pointer)
            server.connections.noteResumption()
        }
        return .YES
    }

    private static func headers(of connection: OpaquePointer) -> [HubRequest.Header] {
        var headers: [HubRequest.Header] = []
        withUnsafeMutablePointer(to: &headers) { headers in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameCount, value, valueCount in
                    guard let context else { return .NO }
                    let headers = context.assumingMemoryBound(to: [HubRequest.Header].self)
                    headers.pointee.append(
                        HubRequest.Header(
                            Exchange.text(name, nameCount), Exchange.text(value, valueCount)))
                    return .YES
                }, headers)
        }
        return headers
    }

    private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
        String(
            decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count),
            as: UTF8.self)
    }

    private static func address(of connection: OpaquePointer) -> String {
        guard let address = backstitch_connection_address(connection) else { return "" }
        let isVersion6 = Int32(address.pointee.sa_family) == AF_INET6
        let count =
            isVersion6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = getnameinfo(
            address, socklen_t(count), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        return status == 0
            ? String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            : ""
    }
}

/// A connection that waits for its answer: libmicrohttpd keeps it until it is resumed.
private struct SuspendedConnection: @unchecked Sendable {
    let pointer: OpaquePointer
}

extension HTTPHandler.BodyPlace {
    var bytesMax: Int {
        switch self {
        case .memory(let bytesMax), .file(_, let bytesMax): bytesMax
        }
    }

    var isFile: Bool {
        if case .file = self { true } else { false }
    }
}
