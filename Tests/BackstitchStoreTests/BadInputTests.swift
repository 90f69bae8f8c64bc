import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Entity struct Stranger {
    var id = ID()
    var text: String
}

/// What a caller can get wrong: each has an error with its own code that names the culprit, and
/// changes nothing.
@Suite(.budgeted) struct BadInputTests {
    let store: Store

    init() throws {
        store = try Store.inMemory(schema: .all)
        try store.write { transaction in
            try transaction.save(Department(id: "d", name: "One"))
            try transaction.save(Employee(id: "e", name: "", email: ""))
            try transaction.save(Badge(id: "b", number: 1, employee: "e"))
        }
    }

    private func expectRefused(
        _ code: StoreError.Code, naming culprit: String,
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
        let before = try store.image()
        let error = failure(body)
        #expect(error?.code == code, sourceLocation: location)
        #expect(
            error?.message.contains(culprit) == true, "\(error?.message ?? "no error")",
            sourceLocation: location)
        #expect(try store.image() == before, sourceLocation: location)
    }

    private func save<Model: Entity>(_ model: Model) throws {
        try store.write { _ = try $0.save(model) }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, .signalingNaN])
    func `a number that is none`(number: Double) throws {
        try expectRefused(.invalidValue, naming: "Everything.double") {
            try save(Everything(id: "x", double: number))
        }
        try expectRefused(.invalidValue, naming: "Everything.float") {
            try save(Everything(id: "x", float: Float(number)))
        }
        try expectRefused(.invalidValue, naming: "Everything.date") {
            try save(Everything(id: "x", date: Date(timeIntervalSince1970: number)))
        }
    }

    @Test func `a decimal that is none`() throws {
        try expectRefused(.invalidValue, naming: "Everything.decimal") {
            try save(Everything(id: "x", decimal: .nan))
        }
    }

    @Test(arguments: [1e12, -1e12, 1e300, Date.distantFuture.timeIntervalSince1970 * 1e4])
    func `a date out of range`(seconds: Double) throws {
        try expectRefused(.invalidValue, naming: "Everything.date") {
            try save(Everything(id: "x", date: Date(timeIntervalSince1970: seconds)))
        }
    }

    @Test func `text and data over the largest size`() throws {
        let bytesMax = _FieldWriter.fieldBytesMax
        try expectRefused(.invalidValue, naming: "Everything.string") {
            try save(Everything(id: "x", string: String(repeating: "é", count: bytesMax / 2 + 1)))
        }
        try expectRefused(.invalidValue, naming: "Everything.data") {
            try save(Everything(id: "x", data: Data(count: bytesMax + 1)))
        }
    }

    @Test func `the refusal of a large value counts its bytes and says what to do`() throws {
        #expect(_FieldWriter.fieldBytesMax == 1_048_576)
        try expectRefused(.invalidValue, naming: "it has 1048577 bytes, and a field has 1048576") {
            try save(Everything(id: "x", data: Data(count: 1_048_577)))
        }
        try expectRefused(.invalidValue, naming: "in a file") {
            try save(Everything(id: "x", data: Data(count: 1_048_577)))
        }
    }

    @Test func `values at their limits are kept`() async throws {
        let text = String(repeating: "x", count: _FieldWriter.fieldBytesMax)
        let name = String(repeating: "n", count: 255)
        let model = Everything(
            id: .init(name), string: text, date: Date(timeIntervalSince1970: 9e11),
            data: Data(count: _FieldWriter.fieldBytesMax), reference: .init(name + ""))
        try save(model)
        #expect(try store.read { try $0.find(Everything.self, .init(name)) } == model)
        try save(Employee(id: "long", name: text, email: text))
        try await store.expectConsistent()
    }

    @Test(arguments: [
        "", "_reserved", String(repeating: "x", count: 256),
        "é" + String(repeating: "é", count: 127),
    ])
    func `an impossible record name`(name: String) throws {
        try expectRefused(.invalidName, naming: "record name") { try save(Node(id: .init(name))) }
        try expectRefused(.invalidValue, naming: "Node.parent") {
            try save(Node(id: "n", parent: .init(name)))
        }
        #expect(try store.read { try $0.find(Node.self, .init(name)) } == nil)
        #expect(try store.write { try $0.delete(Node.ID(name)) } == false)
        let none = Department(id: .init(name), name: "").employees
        #expect(try store.read { try $0.fetch(none) }.isEmpty)
        let parent = Node.ID(name)
        let query = Query<Node>().where(#Predicate { $0.parent == parent })
        #expect(try store.read { try $0.count(query) } == 0)
    }

    @Test(arguments: ["a\0b", "\u{FFFD}", "\u{202E}x", "\u{E9}", " ", "😀"])
    func `awkward names and texts come back byte for byte`(name: String) async throws {
        let text = name + "e\u{301}"
        try save(Everything(id: .init(name), string: text))
        let found = try store.read { try $0.find(Everything.self, .init(name)) }
        #expect(found.map { Array($0.string.utf8) } == Array(text.utf8))
        try await store.expectConsistent()
    }

    @Test func `a name that another entity has`() throws {
        try expectRefused(.invalidName, naming: "Department") { try save(Node(id: "d")) }
    }

    @Test func `an entity that is not in the schema`() throws {
        let stranger = Stranger(text: "")
        try expectRefused(.unknownEntity, naming: "Stranger") { try save(stranger) }
        try expectRefused(.unknownEntity, naming: "Stranger.self") {
            try store.write { _ = try $0.delete(stranger) }
        }
        try expectRefused(.unknownEntity, naming: "Stranger") {
            try store.read { _ = try $0.find(Stranger.self, "s") }
        }
        try expectRefused(.unknownEntity, naming: "Stranger") {
            try store.read { _ = try $0.fetch(Stranger.self) }
        }
    }

    @Test func `an insert of what exists and an update of what does not`() throws {
        try expectRefused(.alreadyExists, naming: "Department record d") {
            try store.write { try $0.insert(Department(id: "d", name: "Two")) }
        }
        try expectRefused(.notFound, naming: "Department record none") {
            try store.write { _ = try $0.update(Department(id: "none", name: "")) }
        }
    }

    @Test func `a delete that a rule denies`() throws {
        try expectRefused(.deleteDenied, naming: "Badge.employee of b") {
            try store.write { _ = try $0.delete(Employee.ID("e")) }
        }
    }

    @Test func `a write inside a write, and inside a read`() throws {
        let store = store
        try expectRefused(.nestedWrite, naming: "write") {
            try store.write { _ in try store.write { _ in } }
        }
        try expectRefused(.nestedWrite, naming: "read") {
            try store.read { _ in try store.write { _ in } }
        }
    }

    @Test func `an author that is too long`() async throws {
        let author = String(repeating: "é", count: 128)
        try expectRefused(.invalidValue, naming: "author") { try blocking(author) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write(author: author) { try $0.save(Node(id: "n")) }
        }
        #expect(error?.code == .invalidValue)
        let longest = String(repeating: "x", count: StoreConfiguration.authorBytesMax)
        try await store.write(author: longest) { try $0.save(Node(id: "n")) }
        #expect(try store.operations { $0.author }.last == longest)
    }

    private func blocking(_ author: String) throws {
        try store.write(author: author) { _ = try $0.save(Node(id: "n")) }
    }

    @Test func `a closed store`() throws {
        store.close()
        for body in [
            { try save(Node(id: "n")) }, { try store.read { _ in } },
            { _ = try store.verify() },
        ] as [() throws -> Void] {
            let error = failure(body)
            #expect(error?.code == .closed)
            #expect(error?.message.contains("pen it again") == true)
        }
    }
}
