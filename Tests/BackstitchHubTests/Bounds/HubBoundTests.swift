import Foundation
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("The table of bounds", .budgeted)
struct HubBoundTests {
    private static let document = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/BackstitchHub/BOUNDS.md")

    /// With `BACKSTITCH_WRITE_BOUNDS=1` the table in the document is written anew.
    @Test func `the document has the table that the code makes`() throws {
        var text = try String(contentsOf: Self.document, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.filter { $0.hasPrefix("|") }.joined(separator: "\n")
        if ProcessInfo.processInfo.environment["BACKSTITCH_WRITE_BOUNDS"] == "1" {
            text = text.replacing(table.isEmpty ? "TABLE" : table, with: HubBound.table)
            try text.write(to: Self.document, atomically: true, encoding: .utf8)
        } else {
            #expect(table == HubBound.table)
        }
    }

    @Test func `every number that bounds something is in the table`() {
        let names = Set(HubBound.all.map(\.name))
        let properties =
            Array(Mirror(reflecting: HubLimits()).children)
            + Array(Mirror(reflecting: HTTPLimits()).children)
        // The threads of the HTTP library bound nothing for a client.
        let missing = properties.filter { $0.value is Int }.compactMap(\.label)
            .filter { !names.contains($0) && $0 != "threads" }
        #expect(missing == [])
    }

    @Test(arguments: HubBound.all.map(\.name))
    func `a bound is set by its name`(name: String) throws {
        var (hub, http) = (HubLimits(), HTTPLimits())
        try #require(HubBound.named(name)).set(7, in: &hub, &http)
        let changed =
            Array(Mirror(reflecting: hub).children) + Array(Mirror(reflecting: http).children)
        #expect(changed.contains { $0.label == name && $0.value as? Int == 7 })
    }
}
