import BackstitchHubCore
import CMicroHTTPD
import Glibc
import Threading

/// One request and its reply, on a connection of libmicrohttpd.
///
/// The library's threads and the task that answers take turns: while the task runs, the connection is
/// suspended, and the library does not use the exchange.
final class Exchange: @unchecked Sendable {
    private enum Phase {
        case head
        /// What is known of the sender is being looked up.
        case admitting
        case admitted(Admissions.Admission, of: HubRequest, length: Int?)
        case body
        /// Since a time of the steady clock, in nanoseconds.
        case answering(HubRequest, since: Int)
        case answered(HubResponse)
        case ended
    }

    let target: String
    private let server: MicroHTTPDServer
    private var phase = Phase.head
    private var request: HubRequest?
    private var receiver: ReceiverBox?
    /// The bytes of the body that are in memory, and whose they are.
    private var bodyBytes = 0
    private var client = ""
    private var hasNoRoom = false

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

    deinit {
        receiver?.take()?.abandon()
        if let request { server.handler.abandon(request) }
        giveBodyBytes()
    }

    /// What libmicrohttpd calls for the head, for each part of the body, and at its end.
    func proceed(
        _ connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        part: UnsafeRawBufferPointer, isConsumed: inout Bool
    ) -> MHD_Result {
        switch phase {
        case .head:
            return begin(
                connection, method: String(cString: method), version: String(cString: version))
        case .admitted(let admission, let head, let length):
            phase = .head
            return take(admission, of: head, length, connection)
        case .body where part.count > 0:
            receive(part)
            isConsumed = true
            return .YES
        case .body: return answer(connection)
        case .answered(let response):
            phase = .ended
            return server.queue(response, on: connection, closes: server.isStopping)
        case .admitting, .answering, .ended: return .NO
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
            guard !server.isStopping else { return refuse(connection, 503) }
            let peer = server.connections.peer(of: connection)
            var arrived = HubRequest(
                method: head.method, target: target, headers: head.headers,
                remoteAddress: peer.host)
            arrived.note(addressName: peer.name)
            guard let admission = server.handler.admit(&arrived, length) else {
                waitForAdmission(of: arrived, length, connection)
                return .YES
            }
            return take(admission, of: arrived, length, connection)
        } catch {
            return refuse(connection, error.rawValue)
        }
    }

    /// Lets the connection wait until it is known whether its body may come.
    private func waitForAdmission(
        of head: HubRequest, _ length: Int?, _ connection: OpaquePointer
    ) {
        phase = .admitting
        server.connections.noteAnswering(connection, server.handler.makeWork(head))
        MHD_suspend_connection(connection)
        let suspended = SuspendedConnection(pointer: connection)
        // The task is the connection's: the server waits for all of them before it ends.
        Task { [server] in
            var head = head
            let admission = await server.handler.admitLater(&head, length)
            phase = .admitted(admission, of: head, length: length)
            server.connections.noteAdmission(suspended.pointer)
            MHD_resume_connection(suspended.pointer)
            server.connections.noteResumption()
        }
    }

    /// Takes the body of a request that is admitted.
    private func take(
        _ admission: Admissions.Admission, of head: HubRequest, _ length: Int?,
        _ connection: OpaquePointer
    ) -> MHD_Result {
        let place: Admissions.BodyPlace
        switch admission {
        case .refuse(let response):
            server.handler.noteAnswer(head, response, 0)
            return refuse(connection, response)
        case .take(let body): place = body
        }
        if let length, length > place.bytesMax {
            return refuse(connection, RequestHead.Refusal.bodyTooLarge.rawValue)
        }
        if length != 0 { server.connections.noteBody(connection, isUpload: place.isFile) }
        receiver = ReceiverBox(BodyReceiver(place, length: length))
        client = head.addressName
        request = head
        phase = .body
        return .YES
    }

    /// Takes a part of the body, if there is room for it.
    private func receive(_ part: UnsafeRawBufferPointer) {
        guard !hasNoRoom, let box = receiver else { return }
        // Small bodies are as many as connections; what is beyond that is taken from the room of all.
        if let known = box.receiver?.bytesInMemory, known + part.count > ParseBudget.freeBytes {
            let bytes = known + part.count - bodyBytes
            guard server.bodies.take(bytes, for: client) else {
                hasNoRoom = true
                box.take()?.abandon()
                return
            }
            bodyBytes += bytes
        }
        box.receiver?.receive(part)
    }

    /// Answers at once and closes the connection, since the end of the request is not known.
    private func refuse(_ connection: OpaquePointer, _ response: HubResponse) -> MHD_Result {
        phase = .ended
        return server.queue(response, on: connection, closes: true)
    }

    /// Answers with a status alone.
    private func refuse(_ connection: OpaquePointer, _ status: Int) -> MHD_Result {
        server.handler.noteRefusal(status, server.connections.peer(of: connection).host)
        return refuse(connection, .refusal(status))
    }

    private func answer(_ connection: OpaquePointer) -> MHD_Result {
        if hasNoRoom { return refuse(connection, 503) }
        guard let receiver = receiver?.take() else { return .NO }
        let isTooLarge = receiver.isTooLarge
        guard let body = receiver.finish() else {
            return refuse(connection, isTooLarge ? 413 : 503)
        }
        guard var request = request.take() else { return .NO }
        request.body = body
        let start = ConnectionTable.nanoseconds
        if let response = server.handler.answerAtOnce(request) {
            server.handler.noteAnswer(request, response, ConnectionTable.nanoseconds - start)
            return send(response, connection)
        }
        let work = server.handler.makeWork(request)
        phase = .answering(request, since: start)
        server.connections.noteAnswering(connection, work)
        MHD_suspend_connection(connection)
        let suspended = SuspendedConnection(pointer: connection)
        // It has no request of its own, which is large, and long polls are many.
        server.handler.submit(request, work) { [self] response in
            if let response { return resume(suspended, response) }
            guard case .answering(let request, _) = phase else { return }
            // The task is the connection's: the server waits for all of them before it ends.
            Task { [server] in resume(suspended, await server.handler.respond(request, work)) }
        }
        return .YES
    }

    /// Answers without having let the connection wait.
    private func send(_ response: HubResponse, _ connection: OpaquePointer) -> MHD_Result {
        giveBodyBytes()
        phase = .ended
        server.connections.noteReply(connection, bytes: response.byteCount)
        return server.queue(response, on: connection, closes: server.isStopping)
    }

    private func giveBodyBytes() {
        guard bodyBytes > 0 else { return }
        server.bodies.give(bodyBytes, of: client)
        bodyBytes = 0
    }

    /// Lets the connection go on with its answer.
    private func resume(_ connection: SuspendedConnection, _ response: HubResponse) {
        if case .answering(let request, let start) = phase {
            server.handler.noteAnswer(request, response, ConnectionTable.nanoseconds - start)
        }
        giveBodyBytes()
        phase = .answered(response)
        server.connections.noteReply(connection.pointer, bytes: response.byteCount)
        MHD_resume_connection(connection.pointer)
        server.connections.noteResumption()
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

}

/// A connection that waits for its answer: libmicrohttpd keeps it until it is resumed.
private struct SuspendedConnection: @unchecked Sendable {
    let pointer: OpaquePointer
}

extension Admissions.BodyPlace {
    var bytesMax: Int {
        switch self {
        case .memory(let bytesMax), .file(_, let bytesMax): bytesMax
        }
    }

    var isFile: Bool {
        if case .file = self { true } else { false }
    }
}
