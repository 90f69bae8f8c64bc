import Backstitch
import Foundation
import LMDB
import Terminal
import TestBudget
import Testing

@Suite(.budgeted) struct TransferCommandTests {
    let fixture: StoreFixture
    var file: String { fixture.root + "/export.jsonl" }

    init() throws { fixture = try StoreFixture() }

    private func object(_ text: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    /// Makes an empty store of the same schema.
    private func emptyStore() throws -> String {
        let path = fixture.root + "/other"
        try Store(at: path, schema: StoreSchema(StoredNote.self)).close()
        return path
    }

    @Test func `a limit on the size of files is told, and ends no command by a signal`() throws {
        try fixture.fill(20, bodyBytes: 20_000)
        let target = fixture.root + "/copy"
        let result = try Runner.run(
            ["backup", fixture.path, target],
            through: ["/bin/sh", "-c", "ulimit -f 64; exec \"$@\"", "sh"])
        #expect(result.code == 2)
        #expect(result.complaint.contains("File too large"), "\(result.complaint)")
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try Runner.run("backup", fixture.path, target).code == 0)
    }

    @Test func `backup makes a store that can be opened and verified`() throws {
        try fixture.fill()
        let target = fixture.root + "/copy"
        let result = try Runner.run("backup", fixture.path, target)
        #expect(result.code == 0, "\(result.complaint)")
        #expect(result.output.hasPrefix("Copied and verified: 3 operations, the last is 3, in "))
        #expect(try Runner.run("verify", target).code == 0)
        let again = try Runner.run("backup", fixture.path, target)
        #expect(again.code == 2)
        #expect(again.complaint.contains("something is there already"))
        let json = try Runner.run("backup", fixture.path, target + "2", "--json")
        #expect(
            try object(json.output).keys.sorted() == [
                "bytes", "copiedFrom", "entries", "lastSequence", "operations", "store", "storeID",
                "target",
            ])
        #expect(try Runner.run("backup", fixture.root + "/none", target + "3").code == 2)
    }

    @Test func `an export is imported into another store`() throws {
        try fixture.fill()
        let exported = try Runner.run("export", fixture.path)
        #expect(exported.code == 0)
        #expect(
            exported.output.hasPrefix(
                """
                {"entity":"Note","record":"n0","values":{"stars":{"int64":1},"title":{"string":"Note 0"}}}

                """))
        let written = try Runner.run("export", fixture.path, "--output", file)
        #expect(written.output == "Written: 3 lines.\n")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == exported.output)
        let refused = try Runner.run("export", fixture.path, "--output", file)
        #expect(refused.code == 2)
        #expect(refused.complaint.contains("--resume"))

        let other = try emptyStore()
        let imported = try Runner.run("import", other, file)
        #expect(imported.code == 0, "\(imported.complaint)")
        #expect(
            imported.output
                == "Imported: 3 records inserted, 0 updated, 0 unchanged; 0 lines failed.\n")
        #expect(try Runner.run("export", other).output == exported.output)
        let again = try Runner.run("import", other, file, "--json")
        #expect(
            again.output == """
                {"failed":0,"file":"\(file)","inserted":0,"lines":3,"stopped":false,\
                "store":"\(other)","unchanged":3,"updated":0}

                """)
    }

    @Test(arguments: [false, true])
    func `an export that was cut is gone on with`(isLog: Bool) throws {
        try fixture.fill(20)
        let kind = isLog ? ["--log"] : []
        let whole = try Runner.run(["export", fixture.path] + kind).output
        #expect(whole.split(separator: "\n").count == 20)
        if isLog { #expect(try Runner.run("log", fixture.path, "--json").output == whole) }
        for cut in [0, 10, whole.utf8.count / 2, whole.utf8.count] {
            try Data(whole.utf8.prefix(cut)).write(to: URL(fileURLWithPath: file))
            let result = try Runner.run(
                ["export", fixture.path, "--output", file, "--resume"] + kind)
            #expect(result.code == 0, "\(result.complaint)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == whole)
        }
        try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: file))
        let result = try Runner.run(["export", fixture.path, "--output", file, "--resume"] + kind)
        #expect(result.code == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "nonsense\n")
    }

    @Test func `bad lines are told with their numbers`() throws {
        let other = try emptyStore()
        let text = """
            {"entity":"Note","record":"a","values":{"stars":{"int64":1},"title":{"string":"A"}}}
            {"entity":"Note","record":"b","values":{"stars":{"int64":1}}}
            nonsense
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let strict = try Runner.run("import", other, file, "--strict")
        #expect(strict.code == 1)
        #expect(strict.output.contains("0 records inserted"))
        let result = try Runner.run("import", other, file)
        #expect(result.code == 1)
        #expect(
            result.complaint.contains("Line 2: Note.title has no value and needs one. Give it one"))
        #expect(result.complaint.contains("Line 3: No JSON at byte 1"))
        #expect(result.output.contains("1 record inserted"))
        let json = try Runner.run("import", other, file, "--json")
        #expect(json.code == 1)
        for line in json.complaint.split(separator: "\n") {
            #expect(try object(String(line)).keys.sorted() == ["line", "reason"])
        }
        #expect(try Runner.run("import", other, fixture.root + "/none").code == 2)
        #expect(try Runner.run("import", fixture.root + "/none", file).code == 2)
    }

    @Test(arguments: [
        ["--json"], ["--resume"], ["--log", "--entity", "Note"], ["--entity", "Nothing"],
    ])
    func `an export that makes no sense is refused`(options: [String]) throws {
        try fixture.fill(1)
        let result = try Runner.run(["export", fixture.path] + options)
        #expect(result.code == 2)
        #expect(result.output.isEmpty)
    }
}
