import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI

@Entity("Team") struct QueriedTeam {
    var id = ID()
    var name: String
    @Relationship(inverse: \QueriedPerson.team) var people: ToMany<QueriedPerson>
}

@Entity("Person") struct QueriedPerson {
    var id = ID()
    var age: Int
    var words: [String]
    var team: QueriedTeam.ID?
}

@Entity("Visit") struct QueriedVisit {
    static let indexes: [EntityIndex<QueriedVisit>] = [EntityIndex(.insensitive(\.name))]
    var id = ID()
    var name: String
    var date: Date
}

@Suite(.budgeted) struct QueryCommandTests {
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
        let told = try Runner.run(
            "query", fixture.path, "Note", "--where", "title = 'Note 1'", "--explain", "--json")
        let steps = plan.output.split(separator: "\n").map(String.init)
        #expect(
            try JSONDecoder().decode([String: [String]].self, from: Data(told.output.utf8))
                == ["steps": steps])
    }

    @Test func `texts are compared without case and accents, and records counted by periods`()
        throws
    {
        let store = try Store(at: fixture.path, schema: StoreSchema(QueriedVisit.self))
        try store.write { transaction in
            for (number, name) in ["Zoë", "ZOE", "Ærø", "zo"].enumerated() {
                try transaction.save(
                    QueriedVisit(
                        id: .init("v\(number)"), name: name,
                        date: Date(timeIntervalSince1970: Double(number) * 20 * 86_400)))
            }
        }
        store.close()
        func run(_ arguments: String...) throws -> String {
            let result = try Runner.run(["query", fixture.path, "Visit"] + arguments)
            #expect(result.code == 0, "\(result.complaint)")
            return result.output
        }
        #expect(try run("--where", "fold(name) = 'zoë'", "--count") == "2\n")
        #expect(try run("--where", "fold(name) startsWith 'ZO'", "--count") == "3\n")
        #expect(try run("--where", "fold(name) in ('ZOË', 'x')", "--count") == "2\n")
        #expect(
            try run("--where", "month(date) = '1970-01-01T00:00:00Z'", "--count") == "2\n")
        #expect(
            try run("--where", "day(date, 'Asia/Tokyo') = '1969-12-31T15:00:00Z'", "--count")
                == "1\n")
        #expect(
            try run("--sort", "fold(name)", "--select", "name", "--limit", "1", "--json")
                == "{\"record\":\"v3\",\"values\":{\"name\":{\"string\":\"zo\"}}}\n")
        #expect(
            try run("--group", "fold(name),year(date)", "--json").split(separator: "\n").count == 3)
        #expect(try run("--group", "month(date)").hasPrefix("month(date)"))
        let days = try run("--group", "day(date, 'Asia/Tokyo'),year(date)", "--json")
        #expect(days.split(separator: "\n").count == 4)
        for zone in ["Asia/Tokyo", "\"Asia/Tokyo\""] {
            #expect(try run("--group", "day(date,\(zone)),year(date)", "--json") == days)
            #expect(
                try run(
                    "--sort", "-day(date, \(zone)),name", "--select", "name", "--limit", "1",
                    "--json") == "{\"record\":\"v3\",\"values\":{\"name\":{\"string\":\"zo\"}}}\n")
        }
        #expect("a,-day(b, 'c/d'),,e)".listedNames == ["a", "-day(b, c/d)", "e)"])
        for wrong in ["day(date, 'Nowhere')", "day(date", "day(date, 'Asia/Tokyo"] {
            let result = try Runner.run("query", fixture.path, "Visit", "--group", wrong)
            #expect(result.code == 2, "\(wrong)")
        }
        let plan = try run("--where", "fold(name) = 'ZOË'", "--explain")
        #expect(plan.hasPrefix("index fold(name) = \"zoe\""))
        for wrong in ["fold(date) = 'x'", "day(name) = 'x'", "day(date, 'Nowhere') is null"] {
            let result = try Runner.run(
                "query", fixture.path, "Visit", "--where", wrong, "--count")
            #expect(result.code == 2, "\(wrong)")
        }
    }

    @Test func `conditions and orders lead over relationships and into lists`() throws {
        let store = try Store(
            at: fixture.path, schema: StoreSchema(QueriedTeam.self, QueriedPerson.self))
        try store.write { transaction in
            for (id, name) in [("t1", "Zebra"), ("t2", "Ant"), ("t3", "Empty")] {
                try transaction.save(QueriedTeam(id: .init(id), name: name))
            }
            for (id, age, team, words) in [
                ("p1", 20, "t1", []), ("p2", 40, "t2", ["red"]),
                ("p3", 60, "t2", ["blue", "green"]),
            ] as [(String, Int, String, [String])] {
                try transaction.save(
                    QueriedPerson(id: .init(id), age: age, words: words, team: .init(team)))
            }
        }
        store.close()
        func names(_ entity: String, _ words: String...) throws -> [String] {
            let result = try Runner.run(["query", fixture.path, entity, "--json"] + words)
            #expect(result.code == 0, "\(result.complaint)")
            return result.output.split(separator: "\n").map {
                String($0.dropFirst(11).prefix(2))
            }
        }
        #expect(try names("Person", "--where", "team.name = 'Ant' and age > 50") == ["p3"])
        #expect(try names("Person", "--sort", "team.name,-age") == ["p3", "p2", "p1"])
        #expect(try names("Person", "--where", "words is empty") == ["p1"])
        #expect(try names("Person", "--where", "any(words where value startsWith 'g')") == ["p3"])
        #expect(try names("Person", "--where", "count(words) >= 1") == ["p2", "p3"])
        #expect(try names("Team", "--where", "any(Person.team where age > 50)") == ["t2"])
        #expect(try names("Team", "--where", "count(Person.team) = 0") == ["t3"])
        #expect(try names("Team", "--where", "any(Person.team where any(words))") == ["t2"])
        let plan = try Runner.run(
            "query", fixture.path, "Person", "--where", "team.name = 'Ant'", "--explain")
        #expect(plan.output.hasPrefix("look up 1 Team record: scan Team, filter 1 condition\n"))
        let wrong = try Runner.run("query", fixture.path, "Person", "--where", "team.age = 1")
        #expect(wrong.code == 2)
        #expect(wrong.complaint.contains("Team has no attribute 'age'"))
    }

    @Test
    func `without a sort UUIDs come first, and then other names, short ones before long ones`()
        throws
    {
        let names = [
            "00000000-0000-4000-8000-000000000002", "FFFFFFFF-0000-4000-8000-000000000001", "b",
            "z", "ab", "aaa",
        ]
        let store = try fixture.open()
        for name in names.reversed() { try store.save(name, "Note") }
        store.close()
        for words in [["query", fixture.path, "Note", "--json"], ["export", fixture.path]] {
            let result = try Runner.run(words)
            #expect(result.code == 0, "\(result.complaint)")
            let records = try result.output.split(separator: "\n").compactMap { line in
                let json = try JSONSerialization.jsonObject(with: Data(line.utf8))
                return (json as? [String: Any])?["record"] as? String
            }
            #expect(records == names, "\(words[0])")
        }
        let help = try Runner.run("query", "--help").output.split { $0.isWhitespace }
            .joined(separator: " ")
        #expect(
            help.contains("UUIDs first, then other names, shorter ones before longer ones."))
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
