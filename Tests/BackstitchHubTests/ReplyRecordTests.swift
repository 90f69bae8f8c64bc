import BackstitchCore
import BackstitchSync
import Glibc
import TestBudget
import Testing

@testable import CloudKitRecordService

@Suite("What a client makes of the records and the words of replies", .budgeted)
struct ReplyRecordTests {
    /// Parts of a record that can't be read, and what is told of each.
    private static let flaws = [
        (#""fields":{"n":{"value":9223372036854775808,"type":"INT64"}}"#, "(field 'n')"),
        (#""fields":{"n":{"value":5,"type":"STRING"}}"#, "(field 'n')"),
        (#""fields":{"n":{"value":{"latitude":91,"longitude":0}}}"#, "(field 'n')"),
        (#""fields":{"n":{"value":{},"type":"REFERENCE"}}"#, "(field 'n')"),
        (#""fields":{"n":{"value":{"size":"x"},"type":"ASSETID"}}"#, "(field 'n')"),
        (#""fields":{"n":{"value":1,"type":7}}"#, "(field 'n')"),
        (#""fields":{"n":17}"#, "'n'"),
        (#""fields":[]"#, "'fields'"),
        (#""recordType":{}"#, "'recordType'"),
        (#""deleted":0"#, "'deleted'"),
    ]

    @Test("a record with a part that can't be read fails alone, and is named", arguments: flaws)
    func unreadable(part: String, place: String) async throws {
        let good =
            #"{"recordName":"a","recordType":"T","recordChangeTag":"1","fields":{},"modified":{"timestamp":5}}"#
        let bad = #"{"recordName":"bad","recordChangeTag":"1","modified":{"timestamp":5},\#(part)}"#
        let page =
            #"{"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"2","records":[\#(bad),\#(good)]}]}"#
        let records = #"{"records":[\#(bad),\#(good)]}"#
        let service = try ReplyTests.service(
            ScriptedClient([
                ReplyTests.reply(200, page), ReplyTests.reply(200, records),
                ReplyTests.reply(200, records),
            ]))
        let changes = try await service.zoneChanges(
            in: ZoneID("z"), since: "1", limit: 10, fields: nil)
        #expect(changes.records.map(\.recordName) == ["a"])
        #expect(changes.deletions.isEmpty)
        let message = changes.failures["bad"]?.message ?? ""
        #expect(message.contains("'bad'") && message.contains(place), "\(message)")
        let found = try await service.lookUpRecords(["bad", "a"], in: ZoneID("z"))
        guard case .failed? = found.first, case .found? = found.last else {
            Issue.record("\(found)")
            return
        }
        // In the reply to a push it may be any of both, so that the reply counts as none.
        let modifications = ["bad", "a"].map {
            RecordModification.create(recordName: $0, recordType: "T", fields: [:])
        }
        let error = await #expect(throws: ServiceError.self) {
            try await service.modifyRecords(modifications, in: ZoneID("z"), atomic: false)
        }
        #expect(error?.message.contains("'bad'") == true)
    }

    @Test("a reply without the form of one is refused")
    func structures() async throws {
        for records in [#"{}"#, #"[5]"#, #"[{"recordName":5}]"#, #"[{"recordType":"T"}]"#] {
            let page =
                #"{"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"2","records":\#(records)}]}"#
            let service = try ReplyTests.service(ScriptedClient([ReplyTests.reply(200, page)]))
            await #expect(throws: ServiceError.self) {
                try await service.zoneChanges(in: ZoneID("z"), since: "1", limit: 10, fields: nil)
            }
        }
    }

    @Test("of a record that a page names twice, the last counts")
    func twice() async throws {
        let gone = #"{"recordName":"a","deleted":true}"#
        let there =
            #"{"recordName":"a","recordType":"T","recordChangeTag":"1","fields":{},"modified":{"timestamp":5}}"#
        let failed = #"{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"r"}"#
        let cases: [([String], records: Int, deletions: Int, failures: Int)] = [
            ([gone, there], 1, 1, 0), ([there, gone], 0, 1, 0), ([there, gone, there], 2, 1, 0),
            ([failed, gone], 0, 1, 0), ([failed, there], 1, 0, 0), ([gone, failed], 0, 1, 1),
        ]
        for (items, records, deletions, failures) in cases {
            let list = items.joined(separator: ",")
            let body =
                #"{"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"2","records":[\#(list)]}]}"#
            let page = try await ReplyTests.service(ScriptedClient([ReplyTests.reply(200, body)]))
                .zoneChanges(in: ZoneID("z"), since: "1", limit: 10, fields: nil)
            #expect(page.records.count == records, "\(items)")
            #expect(page.deletions.count == deletions, "\(items)")
            #expect(page.failures.count == failures, "\(items)")
        }
    }

    private static let errors: [(HTTPReply, ServiceError.Code, String)] = [
        (
            ReplyTests.reply(
                429, #"{"serverErrorCode":"THROTTLED","reason":"slow","retryAfter":"x"}"#),
            .rateLimited, "slow"
        ),
        (
            ReplyTests.reply(200, #"{"serverErrorCode":"INTERNAL_ERROR","reason":"down"}"#),
            .serviceUnavailable, "down"
        ),
        (
            ReplyTests.reply(
                400, #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"a\u001b[31m\n\u0000"}"#),
            .quotaExceeded, "a\u{FFFD}[31m\u{FFFD}\u{FFFD}"
        ),
        (
            ReplyTests.reply(
                400,
                #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"\#(String(repeating: "r", count: 5_000))"}"#
            ), .quotaExceeded, String(repeating: "r", count: 1_000) + "…"
        ),
    ]

    @Test("the words of a service are taken in one line, and not without end")
    func words() async throws {
        for (reply, code, message) in Self.errors {
            let service = try ReplyTests.service(ScriptedClient([reply]))
            let error = await #expect(throws: ServiceError.self) {
                try await service.zoneChanges(in: ZoneID("z"), since: nil, limit: 10, fields: nil)
            }
            #expect(error?.code == code)
            #expect(error?.message == message)
        }
    }

    @Test("a reply that is larger than a client takes is told as that")
    func tooLarge() async throws {
        let listener = try LocalListener()
        listener.start { client in
            var byte: UInt8 = 0
            guard recv(client, &byte, 1, 0) > 0 else { return }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(1 << 30)\r\n\r\n"
            var part = Array(head.utf8)
            // The client hangs up before the end.
            while send(client, part, part.count, Int32(MSG_NOSIGNAL)) > 0 {
                part = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
            }
        }
        let request = HTTPRequest(
            method: "GET", url: "http://127.0.0.1:\(listener.port)/", timeoutMilliseconds: 900_000)
        let client = try CurlClient()
        let error = await #expect(throws: HTTPFailure.self) { try await client.send(request) }
        #expect(error?.message == "The reply is larger than 64 MiB.")
    }
}
