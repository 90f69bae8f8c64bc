import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting
import TestBudget
import Testing

/// One text in two normal forms is two names, of which one can be saved.
@Suite(.budgeted) struct NameFormTests {
    private static let composed = Note.ID("caf\u{E9}")
    private static let decomposed = Note.ID("cafe\u{301}")

    @Test func `ids are the same if their bytes are`() {
        #expect(Self.composed != Self.decomposed)
        #expect(Set([Self.composed, Self.decomposed]).count == 2)
        let (one, other) = (Self.composed.recordID, Self.decomposed.recordID)
        #expect(one != other && (one < other) != (other < one))
    }

    @Test(arguments: ["cafe\u{301}", "\u{212A}", "\u{1100}\u{1161}"])
    func `a name that is not in normal form C is refused with what to do`(
        name: String
    ) async throws {
        let phone = try Device(SimulatedCloud())
        let error = await #expect(throws: StoreError.self) {
            try await phone.store.write { transaction in
                try transaction.save(Note(id: Self.composed, title: "one"))
                try transaction.save(Note(id: Note.ID(name), title: "two"))
            }
        }
        #expect(error?.code == .invalidName)
        #expect(error?.message.contains("precomposedStringWithCanonicalMapping") == true)
        #expect(try phone.titles().isEmpty)
    }

    @Test func `a name is found and watched by its bytes`() async throws {
        let phone = try Device(SimulatedCloud())
        var changes = phone.store.changes().makeAsyncIterator()
        try await phone.save(Note(id: Self.composed, title: "one"))
        let change = try #require(await changes.next())
        #expect(change.inserted(Note.self) == [Self.composed])
        #expect(try phone.find(Self.composed)?.title == "one")
        #expect(try phone.find(Self.decomposed) == nil)
        for (id, count) in [(Self.composed, 1), (Self.decomposed, 0)] {
            let query = Query<Note>().where(\.id, is: id)
            #expect(try phone.store.read { try $0.count(query) } == count)
        }
    }
}
