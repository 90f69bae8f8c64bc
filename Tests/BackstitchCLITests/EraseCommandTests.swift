import Backstitch
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct EraseCommandTests {
    let fixture: StoreFixture
    private let secret = "qvxzj"

    init() throws {
        fixture = try StoreFixture()
        let store = try fixture.open()
        defer { store.close() }
        try store.save("n", "\(secret) one")
        try store.save("n", "\(secret) two")
        try store.save("other", "other")
    }

    private func fileHoldsSecret() throws -> Bool {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
        return bytes.range(of: Data(secret.utf8)) != nil
    }

    @Test func `a record is erased, and the file written anew`() throws {
        #expect(try fileHoldsSecret())
        let result = try Runner.run("erase", fixture.path, "Note", "n", "--json")
        #expect(result.code == 0)
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let told = try #require(document as? [String: Any])
        #expect(told["operations"] as? Int == 3)
        #expect(told["rewritten"] as? Bool == true)
        #expect(told["deletesOnService"] as? Bool == false)
        #expect(try !fileHoldsSecret())
        #expect(try Runner.run("verify", fixture.path).code == 0)
        #expect(try Runner.run("rebuild", fixture.path).output.contains("identical"))
        let history = try Runner.run("history", fixture.path, "Note", "n")
        #expect(!history.output.contains(secret))
        #expect(try Runner.run("history", fixture.path, "Note", "other").output.contains("other"))
        let again = try Runner.run("erase", fixture.path, "Note", "n")
        #expect(again.code == 0)
        #expect(again.output.contains("erased before"))
    }

    @Test func `an open store is erased, and its file stays until it is closed`() throws {
        let store = try fixture.open()
        defer { store.close() }
        let result = try Runner.run("erase", fixture.path, "Note", "n")
        #expect(result.code == 2)
        #expect(result.complaint.contains("open"))
        #expect(try store.read { try $0.fetch(StoredNote.self).count } == 1)
        let kept = try Runner.run("erase", fixture.path, "Note", "n", "--keep-file")
        #expect(kept.code == 0)
        store.close()
        #expect(try Runner.run("erase", fixture.path, "Note", "n").code == 0)
        #expect(try !fileHoldsSecret())
    }

    @Test func `what there is not is refused, and nothing is changed`() throws {
        let before = try fixture.snapshot().filter { $0.key.hasSuffix("data.mdb") }
        #expect(try Runner.run("erase", fixture.path, "Note", "none").code == 2)
        #expect(try Runner.run("erase", fixture.path, "Nothing", "n").code == 2)
        #expect(try Runner.run("erase", fixture.path, "Note").code == 2)
        #expect(try fixture.snapshot().filter { $0.key.hasSuffix("data.mdb") } == before)
    }
}
