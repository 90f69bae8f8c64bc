import CloudKitWire

/// What a hub has beside the calls of the protocol, by the first part of the path.
///
/// It is a class because each request hands it on several times.
final class HubPage: Sendable {
    /// The first part of the path.
    let name: String
    /// The methods that it is called by.
    let methods: [String]
    /// Whom it is for.
    enum Readers: Sendable {
        /// Programs, scripts of web pages among them.
        case clients
        /// Those who watch the hub: pages of others must not read it.
        case operators
        /// People, in a window of their own: pages of others must not read it.
        case people
    }

    /// Answers a request whose answer may take long, without a task that waits for it.
    typealias Waiting =
        @Sendable (
            Hub, RequestTarget, @escaping @Sendable (Result<HubResponse, any Error>) -> Void
        ) -> Void

    /// Answers a request by one of the methods.
    typealias Answer =
        @Sendable (Hub, RequestTarget, HubRequest, RequestWork) async throws -> HubResponse

    let readers: Readers
    /// The answer, if it does not depend on the request and has nothing to wait for.
    let answerAtOnce: (@Sendable (Hub) -> HubResponse)?
    /// As `answer`, for a page whose requests wait; nil for all others.
    let waiting: Waiting?
    let answer: Answer

    private init(
        name: String, methods: [String], readers: Readers = .clients,
        answerAtOnce: (@Sendable (Hub) -> HubResponse)? = nil, waiting: Waiting? = nil,
        answer: @escaping Answer
    ) {
        (self.name, self.methods, self.readers) = (name, methods, readers)
        (self.answerAtOnce, self.waiting, self.answer) = (answerAtOnce, waiting, answer)
    }

    private static func waiting(
        name: String, methods: [String], _ waiting: @escaping Waiting
    ) -> HubPage {
        HubPage(name: name, methods: methods, waiting: waiting) { hub, target, _, _ in
            try await withCheckedThrowingContinuation { continuation in
                waiting(hub, target) { continuation.resume(with: $0) }
            }
        }
    }

    /// All pages.
    static let all: [HubPage] = [
        HubPage(
            name: "healthz", methods: ["GET", "HEAD", "POST"], readers: .operators,
            answerAtOnce: { health(of: $0) }
        ) { hub, _, _, _ in health(of: hub) },
        HubPage(name: "ready", methods: ["GET", "HEAD"], readers: .operators) { hub, _, _, _ in
            try await hub.readiness.response(
                of: hub.storage, hub.assets, now: hub.configuration.steadyNow)
        },
        HubPage(name: "metrics", methods: ["GET"], readers: .operators) { hub, _, _, _ in
            .text(hub.metricFamilies.map(\.text).joined())
        },
        .waiting(name: "courier", methods: ["GET"], nextNotification),
        HubPage(name: "upload", methods: ["HEAD", "PATCH", "POST", "PUT"]) {
            hub, target, request, work in
            switch request.method {
            case "HEAD": try await hub.files.uploadOffset(target, work)
            case "PATCH": try await hub.files.addPart(target, request, work)
            default: try await hub.files.keepUpload(target, request, work)
            }
        },
        HubPage(name: "asset", methods: ["GET"]) { hub, target, request, work in
            try await hub.files.asset(target, request, work)
        },
        HubPage(name: "signin", methods: ["GET", "POST"], readers: .people) {
            hub, target, request, work in
            try await hub.signInPages.answer(target, request, work)
        },
    ]

    /// Whether the hub has to be started again, as `/healthz` says it.
    private static func health(of hub: Hub) -> HubResponse {
        guard hub.storage.hasFailed else { return .text("ok\n") }
        let reason = "A write failed. The hub has to be started again."
        return hub.replies.failure(WireError(.tryAgainLater, reason, retryAfter: 5))
    }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The page of a target; nil if it is none of these.
    static func at(_ target: String) -> HubPage? {
        guard target.utf8.first == UInt8(ascii: "/") else { return nil }
        let name = target.utf8.dropFirst().prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        return byName[String(Substring(name))]
    }
}

extension HubRequest {
    /// What it calls, in the words that the metrics have too.
    package var callName: String {
        page?.name ?? address?.endpoint?.path.rawValue ?? "other"
    }

    /// The page that it asks for, also if the rest of its target can't be read.
    private var page: HubPage? {
        if let address { address.page } else { HubPage.at(target) }
    }

    /// Whether it is there to wait for news.
    package var isLongPoll: Bool { page?.waiting != nil }

    /// Whether it asks for a page that is for those who watch the hub.
    package var isForOperators: Bool { page?.readers == .operators }

    /// Whether scripts of web pages may read the answer.
    var isForScripts: Bool { page?.readers ?? .clients == .clients }
}
