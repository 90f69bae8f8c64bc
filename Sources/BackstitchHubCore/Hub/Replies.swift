import CloudKitWire
import WireCrypto

/// Completes replies, counts them, and makes those to requests that fail.
struct Replies: Sendable {
    let configuration: HubConfiguration
    let metrics: HubMetrics
    let readiness: Readiness
    let address: HubAddress
    private let names: ReplyNames

    init(
        configuration: HubConfiguration, metrics: HubMetrics, readiness: Readiness,
        address: HubAddress
    ) {
        (self.configuration, self.metrics) = (configuration, metrics)
        (self.readiness, self.address) = (readiness, address)
        names = ReplyNames(secret: configuration.clock.secret)
    }

    /// The answer to a request that failed as a whole, for whatever reason.
    func failure(_ error: any Error, of call: String, _ request: HubRequest) -> HubResponse {
        switch error {
        case var error as WireError:
            if error.code == .authenticationRequired { error.redirectURL = signInURL(request) }
            return failure(error)
        case is WorkCancelled: return failure(.tooBusy)
        default:
            configuration.log(failure: error, call: call)
            if let error = error as? any StorageFailure, error.isAboutSpace {
                readiness.noteFullDisk(now: configuration.steadyNow)
            }
            return failure(Self.reply(to: error))
        }
    }

    /// The answer to a request that failed as a whole.
    func failure(_ error: WireError) -> HubResponse {
        .failure(error, uuid: names.next())
    }

    /// Where a user signs in for the API token of a request.
    private func signInURL(_ request: HubRequest) -> String? {
        request.address?.target.query["ckAPIToken"].map {
            "\(address.baseURL)/signin/\(Digest.sha256($0).hexadecimal)"
        }
    }

    /// What a client is told of a failure of the hub itself.
    private static func reply(to error: any Error) -> WireError {
        if let error = error as? any StorageFailure, error.isAboutSpace {
            return WireError(.tryAgainLater, "The service has no space left.", retryAfter: 60)
        }
        if let error = error as? any StorageFailure, error.isPassing {
            return WireError(.tryAgainLater, "The service's storage is away.", retryAfter: 5)
        }
        return WireError(.internalError, "The service failed.")
    }

    /// A response with what all of them have, counted.
    func finished(
        _ response: consuming HubResponse, of call: String, _ request: HubRequest
    ) -> HubResponse {
        metrics.countRequest(call, status: response.status)
        complete(&response, isForScripts: request.isForScripts)
        response.code(for: request.headers)
        return response
    }

    /// Adds the headers that all responses have.
    private func complete(_ response: inout HubResponse, isForScripts: Bool) {
        response.headers.reserveCapacity(Self.usualHeaders)
        func has(_ name: String) -> Bool { response.headers.contains { $0.name == name } }
        if !has(WireHeader.requestUUID) {
            response.headers.append(HubRequest.Header(WireHeader.requestUUID, names.next()))
        }
        // What is told to one user is kept by nobody on the way.
        if !has("Cache-Control") {
            response.headers.append(HubRequest.Header("Cache-Control", "no-store"))
        }
        response.headers.append(contentsOf: Self.forAll)
        if isForScripts { response.headers.append(contentsOf: Self.forScripts) }
    }

    /// How many headers most replies have.
    private static let usualHeaders = 8

    /// The headers that all replies have.
    private static let forAll = [
        HubRequest.Header("X-Content-Type-Options", "nosniff"),
        HubRequest.Header(
            WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
    ]

    /// The headers with which scripts of web pages may read a reply.
    private static let forScripts = [
        HubRequest.Header("Access-Control-Allow-Origin", "*"),
        HubRequest.Header(
            "Access-Control-Expose-Headers",
            "\(WireHeader.requestUUID),\(WireHeader.webAuthToken),X-Responding-Instance,Via,"
                + WireHeader.uploadOffset),
    ]

    /// What a client is told whose request can't be acted upon.
    func refusal(
        to error: any Error, of call: String, _ request: HubRequest
    ) -> HubResponse {
        finished(failure(error, of: call, request), of: call, request)
    }

    /// What other web pages are told they may send.
    static func preflight(_ methods: [String]) -> HubResponse {
        HubResponse(
            status: 200,
            headers: [
                HubRequest.Header(
                    "Access-Control-Allow-Methods", methods.joined(separator: ", ")),
                HubRequest.Header(
                    "Access-Control-Allow-Headers",
                    "Content-Type, Range, \(WireHeader.uploadOffset), \(WireHeader.uploadLength)"),
                HubRequest.Header("Access-Control-Max-Age", "600"),
            ])
    }

    /// The answer to a method that an address does not take.
    func notAllowed(_ methods: [String]) -> HubResponse {
        let names = methods.joined(separator: ", ")
        var response = failure(WireError(.badRequest, "This address takes \(names)."))
        response.status = 405
        response.headers.append(HubRequest.Header("Allow", names))
        return response
    }
}
