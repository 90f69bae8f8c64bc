import BackstitchTesting
import Threading

@testable import CloudKitRecordService

/// What goes wrong with a request on its way.
enum WireFault: String, CaseIterable {
    /// The connection is cut before the request arrives.
    case cutBefore
    /// The connection is cut before the reply arrives; the request took effect.
    case cutAfter
    /// The reply comes after the client gave up.
    case tooSlow
    /// The reply comes late, and in time.
    case slow
    /// The client gives up, and the request arrives after that.
    case late
    /// Something between sends the request twice, and hands on the last reply.
    case twice
    /// The connection ends within the body, and nothing tells so.
    case truncated
    /// A body of nothing.
    case empty
    /// Something between answers for the service, with a page for people.
    case wrongType, wrongTypeAfter
    /// The service, or something in front of it, has the client wait.
    case tooManyRequests, tooManyRequestsRetryAfter
    case unavailable, unavailableRetryAfter
    case badGateway
}

/// The way from one device to a service, with the faults that a seed says.
final class FaultyClient: HTTPClient {
    private struct State {
        var generator: SeededGenerator
        var chance = 0.0
        var late: [HTTPRequest] = []
        var injected: [WireFault: Int] = [:]
    }

    static let retryAfterSeconds = 20

    private let inner: any HTTPClient
    private let clock: ManualClock
    private let didDeliver: @Sendable (HTTPRequest) async -> Void
    private let speech: WireSpeech
    private let state: Locked<State>

    /// - Parameters:
    ///   - chance: How likely a fault is, for each request.
    ///   - speech: What client and service know of each other beyond CloudKit.
    ///   - didDeliver: Called after the service did what a request asks.
    init(
        _ inner: any HTTPClient, clock: ManualClock, seed: UInt64, chance: Double,
        speech: WireSpeech,
        didDeliver: @escaping @Sendable (HTTPRequest) async -> Void
    ) {
        (self.inner, self.clock, self.didDeliver) = (inner, clock, didDeliver)
        self.speech = speech
        var first = State(generator: SeededGenerator(seed: seed))
        first.chance = chance
        state = Locked(first)
    }

    /// How often each fault happened.
    var injected: [WireFault: Int] { state.withLock { $0.injected } }

    /// Lets every request through from now on.
    func endFaults() { state.withLock { $0.chance = 0 } }

    /// Has requests arrive whose client gave up on them.
    func deliverLate() async {
        let late = state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
        for request in late { _ = try? await deliver(request) }
    }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let fault = state.withLock { state -> WireFault? in
            guard state.generator.fraction() < state.chance else { return nil }
            let all = WireFault.allCases
            let fault = all[Int(state.generator.next() % UInt64(all.count))]
            state.injected[fault, default: 0] += 1
            return fault
        }
        guard let fault else { return try await deliver(request) }
        switch fault {
        case .cutBefore: throw HTTPFailure(message: "connection refused")
        case .late:
            state.withLock { $0.late.append(request) }
            throw HTTPFailure(message: "timed out")
        case .wrongType: return Self.page(200)
        case .badGateway: return Self.page(502)
        case .tooManyRequests: return Self.page(429)
        case .tooManyRequestsRetryAfter: return Self.page(429, waits: true)
        case .unavailable: return Self.page(503)
        case .unavailableRetryAfter: return Self.page(503, waits: true)
        case .cutAfter, .tooSlow, .slow, .twice, .truncated, .empty, .wrongTypeAfter:
            return try await spoil(try await deliver(request), of: request, fault)
        }
    }

    /// What the client gets where the service did what it asked.
    private func spoil(
        _ reply: HTTPReply, of request: HTTPRequest, _ fault: WireFault
    ) async throws(HTTPFailure) -> HTTPReply {
        var reply = reply
        switch fault {
        case .tooSlow:
            clock.advance(milliseconds: 60_000)
            throw HTTPFailure(message: "timed out")
        case .slow:
            clock.advance(milliseconds: 50_000)
        case .twice:
            return try await deliver(request)
        case .truncated:
            let count = state.withLock { $0.generator.next() } % UInt64(max(1, reply.body.count))
            reply.body.removeLast(reply.body.count - Int(count))
        case .empty:
            reply.body = []
        case .wrongTypeAfter:
            return Self.page(200)
        default:
            throw HTTPFailure(message: "connection reset")
        }
        return reply
    }

    private func deliver(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let request = speech.arriving(request)
        let reply = try await inner.send(request)
        await didDeliver(request)
        return speech.arriving(reply)
    }

    /// What a proxy says.
    private static func page(_ status: Int, waits: Bool = false) -> HTTPReply {
        var headers = ["content-type": "text/html"]
        if waits { headers["retry-after"] = "\(retryAfterSeconds)" }
        return HTTPReply(
            status: status, headers: headers,
            body: Array("<html><body>\(status)</body></html>".utf8))
    }
}
