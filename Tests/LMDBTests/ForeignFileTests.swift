import Foundation
import TestBudget
import Testing

@testable import LMDB

/// Data files that lack a database, or have others too.
@Suite(.budgeted) struct ForeignFileTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture() }

    /// The files of a folder with their bytes.
    private func contents(_ path: String) throws -> [String: Data] {
        var result: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            result[name] = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
        }
        return result
    }

    @Test(arguments: [["three"], ["one", "three"], ["one", "two", "three"]], [false, true])
    func `a database that a file lacks is never made, and the folder stays as it is`(
        names: [String], isReadOnly: Bool
    ) throws {
        let environment = try fixture.openJournaled(.eager(apply: 1_000))
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        #expect(environment.waitingRecords > 0)
        let path = try fixture.copyAsKilled()
        let before = try contents(path)
        let options = Fixture.options {
            $0.databases = names
            $0.journal = .eager()
            $0.isReadOnly = isReadOnly
        }
        #expect(code { _ = try Environment.open(at: path, options: options) } == .foreignFile)
        #expect(try contents(path) == before)
        let next = try fixture.openJournaled(.eager(), at: path)
        #expect(try next.entries().count == 9)
        try next.save(["9": "a"])
        #expect(try next.entries().count == 10)
    }

    @Test func `the databases of a file are compared without a change of its folder`() throws {
        let environment = try fixture.openJournaled(.eager(apply: 1_000))
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        let before = try contents(path)
        let files = EnvironmentFiles(at: path)
        // The position of the journal, which is no database, doesn't count.
        #expect(try files.match(["one", "two"]) == .exact)
        #expect(try files.match(["two"]) == .more)
        #expect(try files.match(["two", "three"]) == .lacking)
        #expect(try contents(path) == before)
        #expect(try EnvironmentFiles(at: fixture.root + "/none").match(["one"]) == nil)
        let text = Data("Dear diary, ".utf8)
        try text.write(to: URL(fileURLWithPath: path + "/data.mdb"))
        #expect(code { _ = try files.match(["one"]) } == .foreignFile)
    }
}
