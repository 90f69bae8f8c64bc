import Backstitch
import Foundation
import Testing

@Suite struct QueryCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test func `records are shown by condition, order and place`() throws {
        try fixture.fill(5)
        let all = try Runner.run("query", fixture.path, "Note", "--select", "title")
        #expect(all.code == 0, "\(all.complaint)")
        #expect(all.output.hasPrefix("Record  title\nn0      \"Note 0\"\n"))
        let some = try Runner.run(
            "query", fixture.path, "Note", "--where", "title > 'Note 1' and stars = 1", "--sort",
            "-title", "--limit", "2", "--offset", "1", "--select", "title", "--json")
        #expect(
            some.output == """
                {"record":"n3","values":{"title":{"string":"Note 3"}}}
                {"record":"n2","values":{"title":{"string":"Note 2"}}}

                """)
        let count = try Runner.run(
            "query", fixture.path, "Note", "--where", "recordName in ('n1', 'x')", "--count")
        #expect(count.output == "1\n")
        let none = try Runner.run("query", fixture.path, "Note", "--where", "stars > 1")
        #expect(none.output == "No records.\n")
        let plan = try Runner.run(
            "query", fixture.path, "Note", "--where", "title = 'Note 1'", "--explain")
        #expect(plan.output.contains("index title"))
    }

    @Test func `more records than a page are all shown`() throws {
        let store = try fixture.open()
        try store.write { transaction in
            for number in 0..<1_201 {
                try transaction.save(
                    StoredNote(id: StoredNote.ID("n\(number)"), title: "t", stars: number))
            }
        }
        store.close()
        let result = try Runner.run("query", fixture.path, "Note", "--json")
        #expect(result.output.split(separator: "\n").count == 1_201)
        #expect(Set(result.output.split(separator: "\n")).count == 1_201)
    }

    @Test(arguments: [
        ["Nothing"], ["Note", "--where", "nothing = 1"], ["Note", "--where", "title ="],
        ["Note", "--sort", "nothing"], ["Note", "--select", "nothing"], ["Note", "--limit", "0"],
    ])
    func `a question that makes no sense is refused`(words: [String]) throws {
        try fixture.fill(1)
        let result = try Runner.run(["query", fixture.path] + words)
        #expect(result.code == 2)
        #expect(result.output.isEmpty)
        if words.contains("--where") { #expect(result.complaint.contains("^")) }
    }
}
