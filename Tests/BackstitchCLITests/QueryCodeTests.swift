import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI

/// The Swift code that Studio shows of a query. What is expected stands beside it as code, so that it compiles.
@Suite(.budgeted) struct QueryCodeTests {
    @Test func `the code of a query makes that query`() {
        let query = RecordQuery(entity: "Note")
            .where(.all([.atLeast("stars", 4), .not(.equal("boss.name", .null))]))
            .where(.any([.contains("title", "a \"b\" \\"), .member("stars", of: [1, 2])]))
            .sorted(by: "title", order: .reverse)
            .sorted(by: "fold(name)")
            .sortedByKey()
        #expect(
            QueryCode.text(query, limit: 10) == #"""
                RecordQuery(entity: "Note")
                    .where(.all([.atLeast("stars", 4), .not(.equal("boss.name", .null))]))
                    .where(.any([.contains("title", "a \"b\" \\"), .member("stars", of: [1, 2])]))
                    .sorted(by: "title", order: .reverse)
                    .sorted(by: "fold(name)")
                    .sortedByKey()
                    .limit(10)
                """#)
        let times = RecordQuery(entity: "Note")
            .where(.less("seen", than: .date(milliseconds: -5)))
            .where(.greater("weight", than: .double(1.5)))
            .where(.records(named: ["a", "b"]))
            .where(.starts("title", with: "\u{2028}"))
        #expect(
            QueryCode.text(times, limit: nil) == #"""
                RecordQuery(entity: "Note")
                    .where(.less("seen", than: .date(milliseconds: -5)))
                    .where(.greater("weight", than: .double(1.5)))
                    .where(.records(named: ["a", "b"]))
                    .where(.starts("title", with: "\u{2028}"))
                """#)
    }

    @Test func `a condition without a short form has no code`() {
        let query = RecordQuery(entity: "Note").where(.count("tags", 2...))
        #expect(QueryCode.text(query, limit: nil) == nil)
    }

    @Test func `Studio shows the code of what was asked`() throws {
        let fixture = try StoreFixture()
        try fixture.fill()
        let server = try StudioProcess(fixture)
        try server.signIn()
        let answer = try server.read(
            "explain?entity=Note&where=stars%20%3E%3D%204&sort=-title&limit=5")
        let document = try #require(answer.body as? [String: Any])
        #expect(
            document["swift"] as? String == #"""
                RecordQuery(entity: "Note")
                    .where(.atLeast("stars", 4))
                    .sorted(by: "title", order: .reverse)
                    .limit(5)
                """#)
    }
}
