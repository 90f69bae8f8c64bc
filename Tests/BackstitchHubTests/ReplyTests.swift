import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

@testable import CloudKitRecordService

/// Answers each request with the next reply of a list.
final class ScriptedClient: HTTPClient {
    private let replies: Locked<[HTTPReply]>
    let requests = Locked<[HTTPRequest]>([])

    init(_ replies: [HTTPReply]) { self.replies = Locked(replies) }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        requests.withLock { $0.append(request) }
        let reply = replies.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let reply else { throw HTTPFailure(message: "cut off") }
        return reply
    }
}

@Suite("What a client makes of replies", .budgeted)
struct ReplyTests {
    static func reply(
        _ status: Int, _ body: String, _ headers: [String: String] = [:]
    ) -> HTTPReply {
        HTTPReply(status: status, headers: headers, body: Array(body.utf8))
    }

    static func service(
        _ client: ScriptedClient, token: WebAuthToken = WebAuthToken("t+/=")
    ) throws(ServiceError) -> CloudKitRecordService {
        try CloudKitRecordService(
            CloudKitConfiguration(
                url: URL(address: "https://h"), container: "c",
                credentials: .user(apiToken: "a", webAuthToken: token)), client: client)
    }

    private static let failures: [(HTTPReply, ServiceError.Code, Double?)] = [
        (reply(503, "<html>"), .serviceUnavailable, nil),
        (reply(503, "", ["retry-after": "7"]), .serviceUnavailable, 7),
        (
            reply(429, #"{"serverErrorCode":"THROTTLED","reason":"r","retryAfter":3}"#),
            .rateLimited, 3
        ),
        (reply(429, "slow down", ["retry-after": "soon"]), .rateLimited, nil),
        (
            reply(421, #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","redirectURL":"https://x"}"#),
            .notAuthenticated, nil
        ),
        (reply(401, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#), .notAuthenticated, nil),
        (reply(403, #"{"serverErrorCode":"ACCESS_DENIED","reason":""}"#), .permissionDenied, nil),
        (reply(404, #"{"serverErrorCode":"ZONE_NOT_FOUND","reason":""}"#), .zoneNotFound, nil),
        (reply(413, #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":""}"#), .quotaExceeded, nil),
        (reply(413, "too large"), .limitExceeded, nil),
        (
            reply(500, #"{"serverErrorCode":"INTERNAL_ERROR","reason":""}"#), .serviceUnavailable,
            nil
        ),
        (reply(400, #"{"serverErrorCode":"BAD_REQUEST","reason":"b"}"#), .tokenExpired, nil),
        (reply(400, #"{"serverErrorCode":"CHANGE_TOKEN_EXPIRED"}"#), .tokenExpired, nil),
        (reply(418, #"{"serverErrorCode":"TEAPOT","reason":"b"}"#), .invalidRequest, nil),
        (
            reply(503, #"{"serverErrorCode":"TEAPOT","reason":"b"}"#), .serviceUnavailable, nil
        ),
        (
            reply(
                200,
                #"{"zones":[{"zoneID":{"zoneName":"z"},"serverErrorCode":"REQUEST_FAILED","reason":"r"}]}"#
            ), .invalidRequest, nil
        ),
        (reply(200, #"{"zones":[{"zoneID":{"zone"#), .network, nil),
        (reply(200, "<html>Welcome to this hotel</html>"), .network, nil),
        (reply(200, "{}"), .network, nil),
        // Nothing of these is the service's word, which has an error object.
        (reply(302, ""), .serviceUnavailable, nil),
        (reply(400, "<html>Bad Request</html>"), .serviceUnavailable, nil),
        (reply(404, "<html>Not Found</html>"), .serviceUnavailable, nil),
        (reply(404, "{}"), .serviceUnavailable, nil),
        (reply(408, "", ["retry-after": "5"]), .serviceUnavailable, 5),
        (reply(410, "gone"), .serviceUnavailable, nil),
        (
            reply(
                200,
                #"{"zones":[{"zoneID":{"zoneName":"z"},"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}]}"#
            ), .tokenExpired, nil
        ),
        (reply(200, #"{"zones":[]}"#), .serviceUnavailable, nil),
    ]

    @Test("failures of all kinds are told by their codes, with the time to wait")
    func failures() async throws {
        for (reply, code, retryAfter) in Self.failures {
            let service = try Self.service(ScriptedClient([reply]))
            do {
                _ = try await service.zoneChanges(
                    in: ZoneID("z"), since: "token", limit: 10, fields: nil)
                Issue.record("\(reply.status) is no failure.")
            } catch {
                #expect(error.code == code, "\(reply.status) \(error)")
                #expect(error.retryAfterSeconds == retryAfter)
            }
        }
    }

    @Test("what the simulation makes of a proxy's answers is what a client makes of them")
    func proxies() async throws {
        for (status, code) in FaultKind.proxyAnswers {
            let reply = Self.reply(status, "<html><body>Not the service</body></html>")
            let service = try Self.service(ScriptedClient([reply]))
            do {
                _ = try await service.zoneChanges(
                    in: ZoneID("z"), since: "token", limit: 10, fields: nil)
                Issue.record("\(status) is no failure.")
            } catch {
                #expect(error.code == code, "\(status) \(error)")
            }
        }
    }

    @Test("a record that a page or a look-up fails to bring does not keep the others")
    func recordErrors() async throws {
        let good =
            #"{"recordName":"a","recordType":"T","recordChangeTag":"1","fields":{},"modified":{"timestamp":5}}"#
        let failed = #"{"recordName":"bad","serverErrorCode":"INTERNAL_ERROR","reason":"r"}"#
        let torn = #"{"recordName":"torn","recordType":"T"}"#
        let items = [good, failed, torn].joined(separator: ",")
        let page =
            #"{"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"2","moreComing":false,"records":[\#(items)]}]}"#
        let client = ScriptedClient([
            Self.reply(200, page), Self.reply(200, #"{"records":[\#(items)]}"#),
        ])
        let service = try Self.service(client)
        let changes = try await service.zoneChanges(
            in: ZoneID("z"), since: "1", limit: 10, fields: nil)
        #expect(changes.records.map(\.recordName) == ["a"])
        #expect(changes.token == "2")
        #expect(
            changes.failures.mapValues(\.code)
                == ["bad": .serviceUnavailable, "torn": .serviceUnavailable])
        let found = try await service.lookUpRecords(["a", "bad", "torn"], in: ZoneID("z"))
        guard case .found? = found.first, case .failed? = found.last, found.count == 3 else {
            Issue.record("\(found)")
            return
        }
    }

    @Test("an error without a record's name, or of the zone, fails the page")
    func pageErrors() async throws {
        let errors: [(String, ServiceError.Code)] = [
            (#"{"serverErrorCode":"INTERNAL_ERROR","reason":"r"}"#, .serviceUnavailable),
            (
                #"{"recordName":"a","serverErrorCode":"ZONE_NOT_FOUND","reason":"r"}"#,
                .zoneNotFound
            ),
        ]
        for (item, code) in errors {
            let page =
                #"{"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"2","records":[\#(item)]}]}"#
            let service = try Self.service(ScriptedClient([Self.reply(200, page)]))
            do {
                _ = try await service.zoneChanges(
                    in: ZoneID("z"), since: "1", limit: 10, fields: nil)
                Issue.record("\(item) is no failure.")
            } catch {
                #expect(error.code == code)
            }
        }
    }

    @Test("a zone that the list of changed zones fails to tell of counts as changed")
    func zoneErrors() async throws {
        let body =
            #"{"zones":[{"zoneID":{"zoneName":"z"},"serverErrorCode":"INTERNAL_ERROR","reason":"r"}],"syncToken":"2"}"#
        let service = try Self.service(ScriptedClient([Self.reply(200, body)]))
        let page = try await service.databaseChanges(since: "1")
        #expect(page.changedZones == [ZoneID("z")])
    }

    @Test("a bad request without a token is not one about a token")
    func badRequest() async throws {
        let reply = Self.reply(400, #"{"serverErrorCode":"BAD_REQUEST","reason":"b"}"#)
        let service = try Self.service(ScriptedClient([reply]))
        do {
            _ = try await service.databaseChanges(since: nil)
            Issue.record("The request was bad.")
        } catch {
            #expect(error.code == .invalidRequest)
        }
    }

    @Test("a token that the service replaces is kept and sent from then on, escaped")
    func rotation() async throws {
        let body = #"{"users":[{"userRecordName":"_u"}]}"#
        let client = ScriptedClient([
            Self.reply(200, body, ["x-apple-cloudkit-web-auth-token": "n+w"]),
            Self.reply(200, body, ["x-apple-cloudkit-session": "old name"]),
        ])
        let kept = Locked<[String]>([])
        let token = WebAuthToken("t+/=") { token in kept.withLock { $0.append(token) } }
        let service = try Self.service(client, token: token)
        #expect(try await service.currentUser() == "_u")
        #expect(try await service.currentUser() == "_u")
        #expect(kept.withLock { $0 } == ["n+w", "old name"])
        let urls = client.requests.withLock { $0.map(\.url) }
        #expect(urls[0].hasSuffix("?ckAPIToken=a&ckWebAuthToken=t%2B%2F%3D"))
        #expect(urls[1].hasSuffix("&ckWebAuthToken=n%2Bw"))
    }

    @Test("the record of a conflict is looked up where the reply lacks it")
    func conflicts() async throws {
        let client = ScriptedClient([
            Self.reply(
                200,
                #"{"records":[{"recordName":"a","serverErrorCode":"CONFLICT","reason":"oplock"}]}"#),
            Self.reply(
                200,
                #"{"records":[{"recordName":"a","recordType":"T","recordChangeTag":"2","fields":{"x":{"value":1}},"modified":{"timestamp":5}}]}"#
            ),
        ])
        let update = RecordModification.update(
            recordName: "a", recordType: "T", changeTag: "1", fields: ["x": .int64(2)])
        let results = try await Self.service(client)
            .modifyRecords([update], in: ZoneID("z"), atomic: false)
        guard case .failed(let error)? = results.first else {
            Issue.record("The update was stale.")
            return
        }
        #expect(error.code == .conflict)
        #expect(error.serverRecord?.fields == ["x": .int64(1)])
        #expect(error.serverRecord?.changeTag == "2")
    }

    @Test("a 413 without the protocol's error object says nothing of a record")
    func tooLargeForProxy() async throws {
        let creates = ["a", "b"].map {
            RecordModification.create(recordName: $0, recordType: "T", fields: [:])
        }
        let page = Self.reply(413, "<html>Content Too Large</html>")
        let said = Self.reply(413, #"{"serverErrorCode":"LIMIT_EXCEEDED","reason":"r"}"#)
        for (reply, count) in [(page, 2), (said, 2), (said, 1)] {
            do {
                _ = try await Self.service(ScriptedClient([reply]))
                    .modifyRecords(Array(creates.prefix(count)), in: ZoneID("z"), atomic: false)
                Issue.record("Too much was sent.")
            } catch {
                #expect(error.code == .limitExceeded)
            }
        }
        // A smaller request can't be made.
        let client = ScriptedClient([page])
        let results = try await Self.service(client)
            .modifyRecords(Array(creates.prefix(1)), in: ZoneID("z"), atomic: false)
        guard case .failed(let error)? = results.first, results.count == 1 else {
            Issue.record("\(results)")
            return
        }
        let bytes = try #require(client.requests.withLock { $0.first?.body.count })
        #expect(error.code == .serviceUnavailable)
        #expect(error.message.contains("a proxy") && error.message.contains("\(bytes) bytes"))
    }

    @Test("replies that do not answer each operation are failures of the service")
    func miscounts() async throws {
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        let saved = #"{"recordName":"a","recordType":"T","recordChangeTag":"1"}"#
        for body in [#"{"records":[]}"#, #"{"records":[\#(saved)]}"#] {
            let service = try Self.service(ScriptedClient([Self.reply(200, body)]))
            await #expect(throws: ServiceError.self) {
                try await service.modifyRecords([create], in: ZoneID("z"), atomic: false)
            }
        }
    }

    private static let misnamed = [
        #"[{"recordName":"b","recordChangeTag":"1","modified":{"timestamp":1}},"#
            + #"{"recordName":"a","recordChangeTag":"2","modified":{"timestamp":1}}]"#,
        #"[{"recordName":"a","recordChangeTag":"1","modified":{"timestamp":1}},"#
            + #"{"recordName":"a","recordChangeTag":"2","modified":{"timestamp":1}}]"#,
        #"[{"recordName":"a","recordChangeTag":"1","modified":{"timestamp":1}},"#
            + #"{"recordName":"c","serverErrorCode":"CONFLICT","reason":""}]"#,
    ]

    @Test(
        "answers to a push that name other records, or in another order, are no answers",
        arguments: misnamed)
    func misnames(records: String) async throws {
        let service = try Self.service(
            ScriptedClient([Self.reply(200, #"{"records":\#(records)}"#)]))
        let modifications = ["a", "b"].map {
            RecordModification.create(recordName: $0, recordType: "T", fields: [:])
        }
        let error = await #expect(throws: ServiceError.self) {
            try await service.modifyRecords(modifications, in: ZoneID("z"), atomic: false)
        }
        #expect(error?.code == .serviceUnavailable)
    }

    @Test("values that the protocol can't spell are refused before anything is sent")
    func unspeakable() async throws {
        let client = ScriptedClient([])
        let service = try Self.service(client)
        let modifications: [RecordModification] = [
            .create(recordName: "a", recordType: "T", fields: ["x": .double(.nan)]),
            .create(recordName: "b", recordType: "T", fields: ["x": .list([.list([])])]),
            .create(
                recordName: "c", recordType: "T", fields: ["x": .list([.int64(1), .string("")])]),
        ]
        let results = try await service.modifyRecords(modifications, in: ZoneID("z"), atomic: false)
        for result in results {
            guard case .failed(let error) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(error.code == .invalidRequest)
        }
        #expect(client.requests.withLock { $0.isEmpty })
    }
}
