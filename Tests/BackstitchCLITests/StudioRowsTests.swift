import Backstitch
import BackstitchCore
import Foundation
import RawConnection
import TestBudget
import Testing

/// What Studio answers part by part, because it needs a look at every row, and what it keeps for its user.
@Suite(.budgeted) struct StudioRowsTests {
    /// More rows than a call looks at.
    private static let rows = 45_000

    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func fill(_ count: Int) throws {
        let store = try fixture.open()
        defer { store.close() }
        try store.write { transaction in
            for number in 0..<count {
                _ = try transaction.save(
                    StoredNote(
                        id: StoredNote.ID(key: RecordKey(RecordName("n\(number)"))),
                        title: "Note \(number)", stars: (number &* 7_919) % count, body: nil))
            }
        }
    }

    private func object(_ server: StudioProcess, _ call: String) throws -> [String: Any] {
        let answer = try server.read(call)
        #expect(answer.status == 200, "\(call) \(answer.body)")
        return try #require(answer.body as? [String: Any])
    }

    private func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    /// All parts of an answer, as the page puts them together.
    private func scanned(
        _ server: StudioProcess, _ query: String, keeping limit: Int
    ) throws -> (records: [(place: String, stars: Int)], parts: Int, examined: Int) {
        var records: [(place: String, stars: Int)] = []
        var (parts, examined) = (0, 0)
        var through: String? = ""
        while let position = through {
            let page = try object(
                server, "\(query)&limit=\(limit)&scan=1&through=\(escaped(position))")
            for record in page["records"] as? [[String: Any]] ?? [] {
                let values = record["values"] as? [String: [String: Any]]
                records.append(
                    (
                        try #require(record["place"] as? String),
                        try #require(values?["stars"]?["int64"] as? Int)
                    ))
            }
            let scan = try #require(page["scan"] as? [String: Any])
            #expect(scan["total"] as? Int == Self.rows)
            let count = scan["examined"] as? Int ?? 0
            #expect(count <= 20_000)
            examined += count
            parts += 1
            through = scan["through"] as? String
        }
        return (Array(records.sorted { $0.place < $1.place }.prefix(limit)), parts, examined)
    }

    @Test func `an order without an index comes part by part, and is the same in the end`() throws {
        try fill(Self.rows)
        let server = try StudioProcess(fixture)
        try server.signIn()
        // What would have to look at every row says so at once, with what it has.
        let first = try object(server, "records?entity=Note&sort=-stars&limit=5")
        #expect((first["records"] as? [Any])?.count == 6, "one more tells that there is more")
        #expect((first["scan"] as? [String: Any])?["through"] is String)
        let all = try scanned(server, "records?entity=Note&sort=-stars", keeping: 5)
        #expect(all.records.map(\.stars) == [44_999, 44_998, 44_997, 44_996, 44_995])
        #expect(all.examined == Self.rows && all.parts >= 3)
        // The next page begins behind the last of this one.
        let next = try scanned(
            server, "records?entity=Note&sort=-stars&place=\(all.records[4].place)", keeping: 3)
        #expect(next.records.map(\.stars) == [44_994, 44_993, 44_992])
        let some = try scanned(
            server, "records?entity=Note&sort=stars&where=stars%20%3E%2040000", keeping: 2)
        #expect(some.records.map(\.stars) == [40_001, 40_002])
    }

    @Test func `a condition without an index is answered and counted part by part`() throws {
        try fill(Self.rows)
        let server = try StudioProcess(fixture)
        try server.signIn()
        let query = "entity=Note&where=stars%20%3D%2044999"
        let found = try scanned(server, "records?" + query, keeping: 100)
        #expect(found.records.map(\.stars) == [44_999] && found.examined == Self.rows)
        var (sum, through): (Int, String?) = (0, "")
        while let position = through {
            let part = try object(server, "count?\(query)&through=\(escaped(position))")
            sum += part["count"] as? Int ?? 0
            through = (part["scan"] as? [String: Any])?["through"] as? String
        }
        #expect(sum == 1)
        // By an index nothing is looked at that is not shown.
        let direct = try object(server, "records?entity=Note&sort=title&limit=3")
        #expect(direct["scan"] == nil && direct["next"] is String)
        let steps = try object(server, "explain?entity=Note&sort=stars")["steps"] as? [String]
        #expect(steps?.last?.contains("not run to its end") == true)
    }

    @Test func `what a page began by an index goes on by a look at every row, behind it`() throws {
        try fill(Self.rows)
        let server = try StudioProcess(fixture)
        try server.signIn()
        let condition = escaped("title = 'Note 0' or title = 'Note 1' or stars = 44999")
        let query = "records?entity=Note&sort=title&where=\(condition)&limit=1"
        let first = try object(server, query)
        func names(_ page: [String: Any]) -> [String] {
            (page["records"] as? [[String: Any]] ?? []).compactMap { $0["record"] as? String }
        }
        #expect(names(first) == ["n0"])
        let next = try #require(first["next"] as? String)
        var page = try object(server, query + "&after=\(escaped(next))")
        var scan = try #require(page["scan"] as? [String: Any])
        let place = try #require(scan["after"] as? String)
        var found = names(page)
        while let through = scan["through"] as? String {
            page = try object(
                server,
                "records?entity=Note&sort=title&where=\(condition)&limit=2&scan=1&place=\(place)"
                    + "&through=\(escaped(through))")
            scan = try #require(page["scan"] as? [String: Any])
            #expect(scan["after"] as? String == place)
            found += names(page)
        }
        #expect(found.count == 2 && Set(found).isSuperset(of: ["n1"]) && !found.contains("n0"))
    }

    @Test func `a page of the log looks at few operations, and says where to go on`() throws {
        try fill(Self.rows)
        let server = try StudioProcess(fixture)
        try server.signIn()
        var (found, calls): ([Int], Int) = ([], 0)
        var before: Int?
        repeat {
            let page = try object(
                server, "log?entity=Note&record=n3" + (before.map { "&before=\($0)" } ?? ""))
            #expect((page["examined"] as? Int ?? .max) <= 25_000)
            found += (page["operations"] as? [[String: Any]] ?? [])
                .compactMap { $0["sequence"] as? Int }
            before = page["before"] as? Int
            calls += 1
        } while before != nil
        #expect(found == [4] && calls > 1)
    }

    @Test func `a record is edited with leave, its name, and only as it was seen`() throws {
        try fixture.fill(3)
        let server = try StudioProcess(fixture, "--allow-writes")
        try server.signIn()
        func edit(_ values: String, at sequence: Int, confirm: String = "store") throws -> Int {
            let members: [String: Any] = [
                "entity": "Note", "record": "n1", "lastSequence": "\(sequence)", "values": values,
                "confirm": confirm,
            ]
            let body = try JSONSerialization.data(withJSONObject: members)
            return try server.act("records/edit", String(decoding: body, as: UTF8.self)).status
        }
        func state() throws -> [String: Any] { try object(server, "record?entity=Note&record=n1") }
        let sequence = try #require(try state()["lastSequence"] as? Int)
        #expect(try edit(#"{"stars":{"int64":5}}"#, at: sequence, confirm: "other") == 409)
        #expect(try edit(#"{"stars":{"int64":5}}"#, at: sequence + 1) == 409)
        #expect(try edit(#"{"stars":{"string":"five"}}"#, at: sequence) == 400)
        #expect(try edit(#"{"stars":null}"#, at: sequence) == 400, "it has to have a value")
        #expect(try edit(#"{"none":{"int64":5}}"#, at: sequence) == 400)
        #expect(try edit("{}", at: sequence) == 400)
        #expect(try state()["lastSequence"] as? Int == sequence)
        let large = "9007199254740993"
        let changes = #"{"stars":{"int64":\#(large)},"title":{"string":"<i>"}}"#
        #expect(try edit(changes, at: sequence) == 200)
        let lines = try Runner.run(
            "query", fixture.path, "Note", "--where", "stars = \(large)", "--json")
        #expect(lines.output.contains(#""string":"<i>""#), "\(lines)")
        let history = try server.read("history?entity=Note&record=n1").body as? [[String: Any]]
        #expect(history?.first?["author"] as? String == "studio")
        #expect(history?.first?["context"] as? String == "edit")
    }

    @Test func `searches are kept for the user, beside the store, within bounds`() throws {
        try fixture.fill(3)
        let server = try StudioProcess(fixture)
        try server.signIn()
        #expect((try server.read("searches").body as? [Any])?.isEmpty == true)
        func save(_ name: String, _ condition: String) throws -> Int {
            let body = try JSONSerialization.data(withJSONObject: [
                "name": name, "entity": "Note", "where": condition, "sort": "-stars",
            ])
            return try server.act("searches/save", String(decoding: body, as: UTF8.self)).status
        }
        #expect(try save("<b>good</b>", "stars > 3") == 200)
        #expect(try save("<b>good</b>", "stars > 4") == 200)
        #expect(try save("", "stars > 4") == 400)
        #expect(try save(String(repeating: "x", count: 5_000), "") == 400)
        // The next one, at another port, has them too.
        let next = try StudioProcess(fixture)
        try next.signIn()
        let kept = try #require(try next.read("searches").body as? [[String: String]])
        #expect(kept.count == 1 && kept[0]["condition"] == "stars > 4")
        let folder = fixture.path + "-state/backstitch/studio"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files.count == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/" + files[0])
        #expect(mode[.posixPermissions] as? Int == 0o600)
        for number in 0..<99 { #expect(try save("s\(number)", "") == 200) }
        #expect(try save("one more", "") == 409)
        let gone = try server.act("searches/remove", #"{"name":"<b>good</b>","entity":"Note"}"#)
        #expect(gone.status == 200 && !String(decoding: gone.body, as: UTF8.self).contains("good"))
        // What is no such file counts as none, and another user's folder is told.
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: folder + "/" + files[0]))
        #expect((try next.read("searches").body as? [Any])?.isEmpty == true)
        try FileManager.default.removeItem(atPath: fixture.path + "-state")
        try Data().write(to: URL(fileURLWithPath: fixture.path + "-state"))
        #expect(try save("nowhere", "") == 409)
    }

    @Test func `files of records are compared, and none is moved`() async throws {
        try fixture.fill(1)
        let store = try fixture.open()
        let asset = try await store.assets.add { try $0.write(Array("held".utf8)) }
        store.close()
        let content = try #require(asset.content)
        let file = "\(fixture.path)/blobs/\(content.prefix(2))/\(content)"
        try Data("other".utf8).write(to: URL(fileURLWithPath: file))
        let server = try StudioProcess(fixture)
        try server.signIn()
        #expect(try server.act("jobs", #"{"kind":"assets"}"#).status == 200)
        var status: [String: Any] = ["running": true]
        while status["running"] as? Bool == true { status = try object(server, "jobs") }
        #expect(status["exitCode"] as? Int == 1)
        #expect((status["result"] as? String)?.contains(content) == true)
        #expect(FileManager.default.fileExists(atPath: file))
        for words in [["--keep-corrupt"], ["--keep-corrupt", "--verify", "--orphans"]] {
            #expect(try Runner.run(["assets", fixture.path] + words).code == 2)
        }
        #expect(try Runner.run("assets", fixture.path, "--verify").code == 1)
        #expect(!FileManager.default.fileExists(atPath: file))
    }
}
