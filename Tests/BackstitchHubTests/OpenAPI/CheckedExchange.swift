import BackstitchCore
import CloudKitWire
import Testing

@testable import BackstitchHubCore
@testable import CloudKitRecordService

extension HubResponse {
    /// Notes an issue where an exchange is not as the hub's description has it.
    ///
    /// - Parameter mayBeWrong: Whether the request is one that is meant to be refused.
    func check(
        against request: HubRequest, mayBeWrong: Bool, _ comment: @autoclosure () -> String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .bytes(let bytes) = body else { return }
        let headers = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        checkExchange(
            request.method, request.target, request: request.bytes, status: status,
            headers: headers, reply: bytes, mayBeWrong: mayBeWrong, comment(),
            sourceLocation: sourceLocation)
    }
}

/// Notes an issue where an exchange is not as the hub's description has it.
func checkExchange(
    _ method: String, _ target: String, request: [UInt8], status: Int,
    headers: [String: String], reply: [UInt8], mayBeWrong: Bool,
    _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    do {
        let description = try APIDescription.hub.get()
        var problems = description.problems(
            method, target, request: request, status: status, headers: headers, reply: reply)
        if !mayBeWrong, status != 200 {
            let operation = description.operation(method, target)
            problems += operation.map { description.problems(request: request, of: $0) } ?? []
        }
        guard !problems.isEmpty else { return }
        let path = target.prefix { $0 != "?" }
        Issue.record(
            """
            \(method) \(path) \(status): \(problems.prefix(5)) \(comment())
            \(String(decoding: request.prefix(2_000), as: UTF8.self))
            \(String(decoding: reply.prefix(2_000), as: UTF8.self))
            """, sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}

/// Hands requests on, and checks each with its reply.
final class CheckedClient: HTTPClient {
    private let client: any HTTPClient

    init(_ client: any HTTPClient) { self.client = client }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let reply = try await client.send(request)
        // Scheme, nothing and host are before the path.
        let parts = request.url.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        checkExchange(
            request.method, "/" + (parts.last ?? ""), request: request.body, status: reply.status,
            headers: reply.headers, reply: reply.body, mayBeWrong: false)
        return reply
    }
}
