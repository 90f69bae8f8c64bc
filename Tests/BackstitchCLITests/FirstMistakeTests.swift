import Backstitch
import ChildProcess
import Foundation
import TestBudget
import Testing
import Waiting

@testable import BackstitchCLI

/// What somebody meets who uses the program for the first time, and mistypes.
@Suite(.budgeted) struct FirstMistakeTests {
    let fixture: StoreFixture
    var file: String { fixture.root + "/export.jsonl" }

    init() throws { fixture = try StoreFixture() }

    @Test(arguments: [
        (["insepct"], "There is no command 'insepct'. Did you mean 'inspect'?"),
        (["log", "s", "--lats", "1"], "There is no option '--lats'. Did you mean '--last'?"),
    ])
    func `a misspelt word is told with the one that was meant`(
        arguments: [String], message: String
    ) throws {
        let result = try Runner.run(arguments)
        #expect(result.code == 2)
        #expect(result.complaint.contains(message), "\(result.complaint)")
    }

    @Test func `only near words are suggested`() {
        #expect(Suggestion.distance("insepct", "inspect") == 1)
        #expect(Suggestion.distance("", "abc") == 3)
        #expect(Suggestion.text("frobnicate", among: ["verify", "log"]) == "")
        #expect(Suggestion.text("lo", among: ["log", "hub"]) == " Did you mean 'log'?")
    }

    @Test(arguments: [
        ("stars == 1", "'==' is written '=' here."), ("stars = 1 && stars = 2", "Write 'and'"),
        ("stars = 1 || stars = 2", "Write 'or'"),
    ])
    func `operators of other languages are told in those of conditions`(
        text: String, message: String
    ) throws {
        try fixture.fill()
        let result = try Runner.run("query", fixture.path, "Note", "--where", text)
        #expect(result.code == 2)
        #expect(result.complaint.contains(message), "\(result.complaint)")
    }

    @Test func `files that are not there are told in words`() throws {
        let missing = fixture.root + "/missing"
        let key = try Runner.run(
            "hub", "key", "--data", fixture.root + "/hub", "--public-key", missing)
        #expect(key.code == 2)
        #expect(key.complaint.contains("'\(missing)' can't be opened: No such file"))
        let token = try Runner.run(
            "sync", fixture.path, "--zone", "Z", "--api-token", "t", "--web-token-file", missing)
        #expect(token.complaint.contains("'\(missing)' can't be opened: No such file"))
        let hub = try Runner.run("hub", "--data", "/proc/none/hub", "--dev")
        #expect(hub.code == 2)
        #expect(!hub.complaint.contains("notFoundPath"), "\(hub.complaint)")
    }

    @Test func `nothing to show is told`() throws {
        try fixture.fill()
        #expect(try Runner.run("conflicts", fixture.path).output == "No conflicts.\n")
        #expect(try Runner.run("conflicts", fixture.path, "--json").output.isEmpty)
        #expect(
            try Runner.run("log", fixture.path, "--record", "nope").output == "No operations.\n")
    }

    @Test func `a reader that goes away is no failure`() throws {
        try fixture.fill(3_000, bodyBytes: 100)
        for arguments in [["export"], ["export", "--log"], ["log"], ["query"]] {
            var words = [arguments[0], fixture.path] + arguments.dropFirst()
            if words[0] == "query" { words.append("Note") }
            let child = try Runner.start(words)
            try child.output.close()
            let complaints = child.complaint.readDataToEndOfFile()
            #expect(try child.wait() == .exit(code: 0), "\(words)")
            #expect(String(decoding: complaints, as: UTF8.self) == "")
        }
    }

    @Test func `equal complaints of an import are counted, in order`() throws {
        try fixture.fill()
        let lines = (1...50).map { $0 % 2 == 0 ? "{" : #"{"entity":"X","record":"a","values":{}}"# }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let result = try Runner.run("import", fixture.path, file)
        #expect(result.code == 1)
        let told = result.complaint.split(separator: "\n")
        #expect(told.count == 21)
        #expect(told.prefix(20).enumerated().allSatisfy { $1.hasPrefix("Line \($0 + 1): ") })
        #expect(told.last == "… and 30 more bad lines.")
        let json = try Runner.run("import", fixture.path, file, "--json")
        #expect(json.complaint.split(separator: "\n").count == 50)
    }

    @Test func `a store is made from an export with its schema`() throws {
        try fixture.fill()
        #expect(try Runner.run("export", fixture.path, "--with-schema", "--output", file).code == 0)
        let target = fixture.root + "/new"
        let made = try Runner.run("import", target, file, "--create")
        #expect(made.code == 0, "\(made.complaint)")
        #expect(made.output.hasPrefix("Imported: 3 records inserted"))
        let (old, new) = (
            try Runner.run("export", fixture.path), try Runner.run("export", target)
        )
        #expect(old.output == new.output)
        let store = try Store(at: target, schema: StoreSchema(StoredNote.self))
        #expect(try store.read { try $0.fetch(StoredNote.self) }.count == 3)
        #expect(try store.verify().problems == [])
        store.close()
        #expect(try Runner.run("import", target, file, "--create").code == 2)
        #expect(try Runner.run("import", target, file).code == 0)
        try "{}\n".write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try Runner.run("import", fixture.root + "/none", file, "--create")
        #expect(refused.complaint.contains("has no schema"))
        #expect(!FileManager.default.fileExists(atPath: fixture.root + "/none"))
        let schema = try Runner.run("export", fixture.path, "--with-schema").output
            .replacing(#""name":"Note""#, with: #""name":"""#)
        try schema.write(toFile: file, atomically: true, encoding: .utf8)
        let wrong = try Runner.run("import", fixture.root + "/none", file, "--create")
        #expect(wrong.complaint.contains("contradicts itself"))
    }

    @Test func `a wide answer is a field a line`() {
        let rows = [["n0", "Note 0", "1"], ["n1", "Note 1", "2"]]
        let titles = ["Record", "title", "stars"]
        let table = QueryCommand.lines(rows, titles, withTitles: true, columns: 30)
        #expect(table.count == 3)
        let fields = QueryCommand.lines(rows, titles, withTitles: true, columns: 15)
        #expect(fields.prefix(4) == ["Record  n0", "title   Note 0", "stars   1", ""])
        #expect(QueryCommand.lines(rows, titles, withTitles: true, columns: nil).count == 3)
    }

    /// Whether a signal would not simply end a process, as far as the kernel tells.
    private func isNoticed(_ number: Int32, by child: ChildProcess) throws -> Bool {
        let status = try String(
            contentsOfFile: "/proc/\(child.identifier)/status", encoding: .utf8)
        let masks = status.split(separator: "\n").filter {
            $0.hasPrefix("SigIgn:") || $0.hasPrefix("SigCgt:")
        }
        return masks.contains { line in
            let mask = UInt64(line.dropFirst(7).trimmingPrefix { $0.isWhitespace }, radix: 16)
            return mask.map { $0 >> UInt64(number - 1) & 1 == 1 } ?? false
        }
    }

    @Test func `an interrupted program says what stays, and ends by the signal`() throws {
        try fixture.fill(2_000, bodyBytes: 20_000)
        let child = try Runner.start(["simulate", "--seeds", "1..100000"])
        try blockUntil { try isNoticed(SIGINT, by: child) }
        // The program listens a moment after the signal stops ending it.
        blockUntil {
            child.send(SIGINT)
            var news = pollfd(
                fd: child.complaint.fileDescriptor, events: Int16(POLLIN), revents: 0)
            return poll(&news, 1, 0) != 0
        }
        let complaints = child.complaint.readDataToEndOfFile()
        #expect(try child.wait() == .signal(SIGINT))
        let times = String(decoding: complaints, as: UTF8.self)
            .split(separator: "\n")
            .count(where: { $0.hasPrefix("backstitch simulate: Interrupted.") })
        #expect(times == 1)
    }

    @Test func `a folder that is a store keeps no demo, and one with files becomes no store`()
        throws
    {
        try fixture.fill()
        let demo = try Runner.run("demo", "--keep", fixture.path)
        #expect(demo.code == 2)
        #expect(demo.complaint.contains("is a store itself"))
        try "text".write(
            toFile: fixture.root + "/other.txt", atomically: true, encoding: .utf8)
        #expect {
            try Store(at: fixture.root, schema: StoreSchema(StoredNote.self))
        } throws: { error in
            (error as? StoreError)?.code == .notAStore
                && (error as? StoreError)?.message.contains("no store, but other files") == true
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.root + "/data.mdb"))
    }
}
