import Foundation
import TestBudget
import Testing

@testable import BackstitchHub

/// What a hub keeps of requests that took long.
@Suite(.budgeted) struct SlowRequestTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/slow-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
    }

    private func request(_ number: Int, milliseconds: Int) -> ServedRequest {
        ServedRequest(
            time: Int64(number), address: "192.0.2.7", method: "POST", call: "records/modify",
            status: 200, nanoseconds: milliseconds * 1_000_000, identifier: "R\(number)")
    }

    @Test func `the last slow ones are written, at most once a second, without addresses`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let slow = SlowRequests(folder: folder)
        slow.tick(now: 0)
        #expect(SlowRequests.version(of: folder) == 0)
        slow.note(request(1, milliseconds: 249))
        slow.note(request(2, milliseconds: 250))
        slow.tick(now: 0)
        let lines = SlowRequests.lines(of: folder)
        #expect(lines.count == 1)
        let object = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
        #expect(object?["request"] as? String == "R2" && object?["microseconds"] as? Int == 250_000)
        #expect(!lines[0].contains("192.0.2.7"))
        for number in 3..<203 { slow.note(request(number, milliseconds: 1_000)) }
        slow.tick(now: 999)
        #expect(SlowRequests.lines(of: folder).count == 1)
        slow.tick(now: 1_000)
        let last = SlowRequests.lines(of: folder)
        #expect(last.count == 100 && last.last?.contains("\"R202\"") == true)
    }
}
