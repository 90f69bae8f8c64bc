import Backstitch
import Foundation
import LMDB
import TestBudget
import Testing

enum LooseCard {
    @Entity("Card") struct Card {
        var id = ID()
        var code: String
    }
}
enum StrictCard {
    @Entity("Card") struct Card {
        var id = ID()
        @Attribute(.unique) var code: String
    }
}

/// `doctor` as it is run.
@Suite(.budgeted) struct DoctorCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func damageLog() throws {
        try fixture.damage { access, databases in
            let log = try #require(databases["log"])
            try access.change([0, 0, 0, 0, 0, 0, 0, 2], in: log) { $0[$0.count / 2] ^= 4 }
        }
    }

    /// The folders of damaged files beside the store.
    private func kept() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.root).filter {
            $0.hasPrefix("store.damaged-")
        }
    }

    @Test func `a store in order is left as it is`() throws {
        try fixture.fill()
        let before = try fixture.snapshot()["store/data.mdb"]
        for arguments in [["doctor", fixture.path], ["doctor", fixture.path, "--repair"]] {
            let result = try Runner.run(arguments)
            #expect(result.code == 0)
            #expect(result.output == "In order: 3 operations, 3 rows.\n")
        }
        let json = try object(try Runner.run("doctor", fixture.path, "--json").output)
        #expect(json["healthy"] as? Bool == true)
        #expect(json["remedy"] as? String == "none")
        #expect(try fixture.snapshot()["store/data.mdb"] == before)
        #expect(try kept() == [])
    }

    @Test func `records that share a unique value are told of, and are no damage`() async throws {
        let loose = try Store(at: fixture.path, schema: StoreSchema(LooseCard.Card.self))
        try await loose.write { transaction in
            for id in ["a", "b"] { try transaction.save(LooseCard.Card(id: .init(id), code: "1")) }
        }
        loose.close()
        try Store(at: fixture.path, schema: StoreSchema(StrictCard.Card.self)).close()
        for command in ["doctor", "verify"] {
            let result = try Runner.run(command, fixture.path)
            #expect(result.code == 0)
            let line = "Card.code is unique, and these records share a value: a, b."
            #expect(result.output.contains(line))
            let json = try object(Runner.run(command, fixture.path, "--json").output)
            #expect(json["uniqueViolations"] as? [String] == [line])
        }
    }

    @Test func `a damaged log is told first and repaired when asked to`() throws {
        try fixture.fill()
        try damageLog()
        let before = try fixture.snapshot()["store/data.mdb"]
        let told = try Runner.run("doctor", fixture.path)
        #expect(told.code == 1)
        #expect(told.output.contains("log: Operation 2: its checksum does not match."))
        #expect(told.output.contains("A repair would give:"))
        #expect(told.output.contains("the next sync fetches everything"))
        #expect(told.output.contains("backstitch doctor --repair \(fixture.path)"))
        #expect(try fixture.snapshot()["store/data.mdb"] == before)

        let repaired = try Runner.run("doctor", "--repair", fixture.path, "--json")
        #expect(repaired.code == 0, "\(repaired.complaint)")
        let json = try object(repaired.output)
        #expect(json["repaired"] as? Bool == true)
        #expect(json["remedy"] as? String == "salvage")
        let names = try kept()
        #expect(names.count == 1)
        let folder = try #require(names.first)
        #expect(json["keptAt"] as? String == fixture.root + "/" + folder)
        #expect(try fixture.snapshot()[folder + "/data.mdb"] == before)
        #expect(try Runner.run("verify", fixture.path).code == 0)
        #expect(try Runner.run("doctor", fixture.path).code == 0)
        let store = try fixture.open()
        defer { store.close() }
        #expect(try store.read { try $0.fetch(StoredNote.self) }.count == 3)
    }

    @Test func `a store that is open is not repaired`() throws {
        try fixture.fill()
        try damageLog()
        // Reading the lock file while the store is open would give up its locks.
        let before = try fixture.snapshot()["store/data.mdb"]
        let store = try fixture.open()
        let result = try Runner.run("doctor", fixture.path, "--repair")
        store.close()
        #expect(result.code == 2)
        #expect(result.complaint.contains("has '\(fixture.path)' open"))
        #expect(try fixture.snapshot()["store/data.mdb"] == before)
        #expect(try kept() == [])
    }

    @Test func `a truncated store is an error for others and a finding for the doctor`() throws {
        try fixture.fill(60, bodyBytes: 1_000)
        let file = URL(fileURLWithPath: fixture.dataPath)
        let data = try Data(contentsOf: file)
        try data.prefix(data.count / 2).write(to: file)
        try fixture.removeLock()
        for command in ["inspect", "verify", "rebuild", "log"] {
            let result = try Runner.run(command, fixture.path)
            #expect(result.code == 2, "\(command)")
            #expect(result.complaint.contains("data.mdb"), "\(command): \(result.complaint)")
        }
        #expect(try Runner.run("doctor", fixture.path).code == 1)
        #expect(try Runner.run("doctor", fixture.path, "--repair").code == 0)
        #expect(try Runner.run("verify", fixture.path).code == 0)
    }

    @Test func `nobody says that nothing is lost where a journal is missing`() throws {
        let moved = fixture.root + "/moved"
        try FileManager.default.createDirectory(atPath: moved, withIntermediateDirectories: true)
        let store = try fixture.open()
        for number in 0..<50 { try store.save("n\(number)", "Note \(number)", 0) }
        // Of the last save the copy knows nothing: it is as the file was before that.
        let file = URL(filePath: fixture.dataPath)
        var (before, copy, number) = (Data(), Data(), 50)
        repeat {
            before = try Data(contentsOf: file)
            try store.save("n\(number)", "Note \(number)", 0)
            copy = try Data(contentsOf: file)
            number += 1
        } while copy != before
        try copy.write(to: URL(filePath: moved + "/data.mdb"))
        store.close()
        let told = try Runner.run("doctor", moved)
        #expect(told.code == 1)
        #expect(told.output.contains("journal: The journal with the last commits is missing."))
        #expect(told.output.contains("commits that only the journal had may be lost"))
        #expect(!told.output.contains("nothing is lost"))
        let repaired = try object(try Runner.run("doctor", moved, "--repair", "--json").output)
        let repair = try #require(repaired["repair"] as? [String: Any])
        #expect(repair["mayLackCommits"] as? Bool == true)
        #expect(try Runner.run("verify", moved).code == 0)

        // The meta pages tell where in the journal the commits begin that the data file lacks.
        let headless = fixture.root + "/headless"
        try FileManager.default.createDirectory(atPath: headless, withIntermediateDirectories: true)
        var data = try Data(contentsOf: URL(filePath: fixture.dataPath))
        data.replaceSubrange(0..<8_192, with: Data(count: 8_192))
        try data.write(to: URL(filePath: headless + "/data.mdb"))
        let salvaged = try object(try Runner.run("doctor", headless, "--json").output)
        #expect((salvaged["repair"] as? [String: Any])?["mayLackCommits"] as? Bool == true)

        // Other damage has its own account.
        try damageLog()
        let other = try object(try Runner.run("doctor", fixture.path, "--json").output)
        #expect((other["repair"] as? [String: Any])?["mayLackCommits"] as? Bool == false)
    }

    @Test func `what is no store is refused`() throws {
        let none = try Runner.run("doctor", fixture.path)
        #expect(none.code == 2)
        #expect(none.complaint.contains(fixture.path))
        #expect(try Runner.run("doctor").code == 2)
    }
}
