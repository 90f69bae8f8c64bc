import BackstitchCore
import BackstitchHub
import Foundation
import Testing
import Threading

@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Hands the requests of a client to a hub, without a network, and loses replies as told.
final class DirectClient: HTTPClient {
    private let hub: Hub
    /// How many of the next replies are lost, after the hub did what they answer.
    let lostReplies = Locked(0)

    init(_ hub: Hub) { self.hub = hub }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let arrived = HubRequest(
            method: request.method,
            target: String(request.url.dropFirst("http://127.0.0.1".count)),
            headers: request.headers.map { HubRequest.Header($0.name, $0.value) },
            body: request.body)
        let response = await hub.respond(to: arrived)
        response.check(against: arrived, mayBeWrong: false)
        let isLost = lostReplies.withLock { count in
            defer { count = max(0, count - 1) }
            return count > 0
        }
        if isLost { throw HTTPFailure(message: "lost") }
        guard case .bytes(let body) = response.body else {
            throw HTTPFailure(message: "a file")
        }
        let headers = response.headers.map { ($0.name.lowercased(), $0.value) }
        return HTTPReply(
            status: response.status, headers: Dictionary(headers) { $1 }, body: body)
    }
}

extension URL {
    /// The address that a test spells.
    init(address: String) {
        guard let url = URL(string: address) else {
            preconditionFailure("'\(address)' is no address.")
        }
        self = url
    }
}

extension HubServer {
    /// The address as text.
    var address: String { url.absoluteString }
}

extension HubFixture {
    func configuration(at url: URL = URL(address: "http://127.0.0.1")) -> CloudKitConfiguration {
        var configuration = CloudKitConfiguration(
            url: url, container: Self.container,
            credentials: .user(
                apiToken: apiToken, webAuthToken: WebAuthToken(ada.webAuthToken)))
        // Among many tests at once a reply takes as long as it takes.
        configuration.timeout = .seconds(900)
        return configuration
    }
}
