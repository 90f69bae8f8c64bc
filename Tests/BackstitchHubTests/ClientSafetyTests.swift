import BackstitchCore
import CloudKitWire
import Foundation
import Threading
import TestBudget
import Testing

@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// What a client does where the way to the service, or the service, is not as it should be.
@Suite("A client that nobody listens to and nobody drives mad", .budgeted)
struct ClientSafetyTests {
    /// Answers as told, one request after the other.
    private final class ScriptedClient: HTTPClient {
        typealias Answer = @Sendable (HTTPRequest) throws(HTTPFailure) -> HTTPReply

        private let answer: Answer
        let requests = Locked<[HTTPRequest]>([])

        init(_ answer: @escaping Answer) { self.answer = answer }

        func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
            requests.withLock { $0.append(request) }
            return try answer(request)
        }

        func count(of part: String) -> Int {
            requests.withLock { $0.count { $0.url.contains(part) } }
        }
    }

    private static func configuration(_ url: String) -> CloudKitConfiguration {
        CloudKitConfiguration(
            url: URL(address: url), container: "iCloud.test", credentials: .apiToken("t"))
    }

    @Test(arguments: [
        "http://hub.example.com", "http://10.0.0.1:8480", "http://127.0.0.1.example.com",
        "http://localhost.example.com", "HTTP://hub.example.com", "ftp://127.0.0.1", "hub",
        "http://127.0.0.1@hub.example.com", "http://127.example.com", "http://[::2]:80",
    ])
    func `no token goes to another machine in the clear`(url: String) throws {
        #expect(throws: ServiceError.self) {
            try CloudKitRecordService(Self.configuration(url))
        }
        guard url.lowercased().hasPrefix("http") else { return }
        var configuration = Self.configuration(url)
        configuration.allowsPlainHTTP = true
        #expect(throws: Never.self) { try CloudKitRecordService(configuration) }
    }

    @Test(arguments: [
        "https://hub.example.com", "http://127.0.0.1:8480", "http://127.8.9.10",
        "http://localhost:1", "http://[::1]:8480", "HTTPS://hub.example.com",
    ])
    func `this machine and encrypted ways are fine`(url: String) {
        #expect(throws: Never.self) { try CloudKitRecordService(Self.configuration(url)) }
    }

    private static let token = PushTokenResponse(
        apnsEnvironment: "development", apnsToken: "push",
        webcourierURL: "https://hub.example.com/courier/1/00")

    /// Follows changes until so many pauses were made, and gives these.
    private static func pauses(
        _ client: ScriptedClient, count: Int
    ) async throws -> [Int64] {
        let service = try CloudKitRecordService(
            configuration("https://hub.example.com"), client: client)
        let pauses = Locked<[Int64]>([])
        try await service.followChanges(
            sleep: { milliseconds in
                let isEnough = pauses.withLock { pauses in
                    pauses.append(milliseconds)
                    return pauses.count >= count
                }
                if isEnough { throw CancellationError() }
            }, { _ in })
        return pauses.withLock { $0 }
    }

    @Test func `polls that end at once with nothing are paced`() async throws {
        let client = ScriptedClient { request in
            let isPoll = request.url.contains("/courier/")
            return HTTPReply(
                status: 200, headers: [:], body: isPoll ? [] : Self.token.body(),
                elapsedMilliseconds: 3)
        }
        #expect(try await Self.pauses(client, count: 5) == [500, 1_000, 2_000, 4_000, 8_000])
        #expect(client.count(of: "/courier/") == 5)
    }

    @Test func `polls that waited are followed by the next at once`() async throws {
        let polls = Locked(0)
        let client = ScriptedClient { request throws(HTTPFailure) in
            guard request.url.contains("/courier/") else {
                return HTTPReply(status: 200, headers: [:], body: Self.token.body())
            }
            let count = polls.withLock { count in
                count += 1
                return count
            }
            if count > 20 { throw HTTPFailure(message: "cut") }
            return HTTPReply(status: 200, headers: [:], body: [], elapsedMilliseconds: 50_000)
        }
        #expect(try await Self.pauses(client, count: 1) == [500])
        #expect(polls.withLock { $0 } == 21)
    }

    @Test func `one push token is kept over failures`() async throws {
        let client = ScriptedClient { request throws(HTTPFailure) in
            if request.url.contains("/courier/") { throw HTTPFailure(message: "cut") }
            return HTTPReply(status: 200, headers: [:], body: Self.token.body())
        }
        let pauses = try await Self.pauses(client, count: 6)
        #expect(pauses == [500, 1_000, 2_000, 4_000, 8_000, 16_000])
        #expect(client.count(of: "tokens/create") == 1)
        #expect(client.count(of: "tokens/register") == 6)
    }

    @Test func `a push token that the service no longer has is made anew`() async throws {
        let client = ScriptedClient { request in
            guard request.url.contains("/courier/") else {
                return HTTPReply(status: 200, headers: [:], body: Self.token.body())
            }
            let error = WireError(.notFound, "There is nothing at this address.")
            return HTTPReply(status: 404, headers: [:], body: error.body())
        }
        _ = try await Self.pauses(client, count: 3)
        #expect(client.count(of: "tokens/create") == 3)
    }

    @Test func `a courier in the clear on another machine is not asked`() async throws {
        let token = PushTokenResponse(
            apnsEnvironment: "development", apnsToken: "push",
            webcourierURL: "http://hub.example.com/courier/1/00")
        let client = ScriptedClient { _ in
            HTTPReply(status: 200, headers: [:], body: token.body())
        }
        let service = try CloudKitRecordService(
            Self.configuration("https://hub.example.com"), client: client)
        await #expect(throws: ServiceError.self) {
            try await service.followChanges(sleep: { _ in }, { _ in })
        }
        #expect(client.count(of: "/courier/") == 0)
    }

    @Test func `nothing is kept of calls that were cancelled`() async throws {
        let client = try CurlClient()
        // Nobody listens at this port: the calls end by themselves, before or after they are cancelled.
        let request = HTTPRequest(
            method: "GET", url: "http://127.0.0.1:1/", timeoutMilliseconds: 1_000)
        for round in 0..<200 {
            let task = Task { _ = try? await client.send(request) }
            for _ in 0..<(round % 7) { await Task.yield() }
            task.cancel()
            await task.value
        }
        #expect(client.cancelledCount == 0)
    }
}
