import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchLog
@testable import BackstitchStore

@Entity private struct Document: Equatable {
    var id = ID()
    var title: String
    @Attribute(.external) var body: Data
    @Attribute(.external) var preview: Data?
    @Attribute(.external) var notes: Data = Data("none".utf8)
}

@Embeddable private struct Part: Equatable {
    @Attribute(.external) var bytes: Data
    @Attribute(.external) var more: Data?
}

@Entity private struct Whole: Equatable {
    var id = ID()
    @Attribute(.embedded) var part: Part
}

@Entity("Document") private struct FileDocument: Equatable {
    var id = ID()
    var title: String
    var body: Asset
    var preview: Asset?
    var notes: Asset?
}

/// Bytes of a record that lie in a file.
@Suite(.budgeted) struct ExternalAttributeTests {
    private let folder: TemporaryFolder
    private let store: Store

    init() throws {
        folder = try TemporaryFolder()
        store = try folder.open(StoreSchema(Document.self, Whole.self))
    }

    private static func bytes(_ count: Int, _ factor: Int = 31) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* factor) })
    }

    private func find(_ name: String) throws -> Document? {
        try store.read { try $0.find(Document.ID(name)) }
    }

    /// The files of the store, without those that nothing names.
    private func files() async throws -> Int {
        _ = try await store.assets.collect(addedBefore: .distantFuture)
        return store.assets.usage().files
    }

    private func expectWhole() async throws {
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
        #expect(try await store.assets.verify().isConsistent)
    }

    @Test(arguments: [0, 1, 4_096, 3 << 20])
    func `bytes go into a file and come back, however many`(count: Int) async throws {
        let document = Document(
            id: "d", title: "One", body: Self.bytes(count), preview: Self.bytes(7, 3))
        try await store.save(document)
        #expect(try find("d") == document)
        #expect(try store.read { try $0.fetch(Query<Document>()) } == [document])
        let rows = try store.read { try $0.reader.log.head }
        #expect(rows == 1)
        #expect(store.assets.usage().files == 3)
        try await expectWhole()
        store.close()
        let again = try folder.open(StoreSchema(Document.self, Whole.self))
        #expect(try again.read { try $0.find(Document.ID("d")) } == document)
    }

    @Test func `a row and an operation have the descriptor, and not the bytes`() async throws {
        try await store.save(Document(id: "d", title: "One", body: Self.bytes(2 << 20)))
        let row = try store.read { try $0.reader.log.withOperation(1) { try $0.after.bytes.count } }
        #expect(try #require(row) < 1_000)
        let record = try store.read { try $0.record("d", of: "Document") }
        guard case .asset(let asset)? = record?.values["body"] else {
            Issue.record("It is no file: \(String(describing: record))")
            return
        }
        #expect(asset.byteCount == 2 << 20)
        #expect(asset.content == SHA256.hexadecimal(of: Array(Self.bytes(2 << 20))))
    }

    @Test func `the same bytes are no change, and others are one`() async throws {
        var document = Document(id: "d", title: "One", body: Self.bytes(100))
        try await store.save(document)
        let outcome = try await store.write { [document] in try $0.save(document) }
        #expect(outcome == .unchanged)
        document.body = Self.bytes(100, 5)
        try await store.save(document)
        document.title = "Two"
        try await store.save(document)
        #expect(try find("d") == document)
        // What is to be pushed, and history, need the first one.
        #expect(try await files() == 3)
        try await expectWhole()
    }

    @Test func `nil is no file, and an initial value stands in where there is none`() async throws {
        try await store.save(
            Document(id: "d", title: "One", body: Data(), preview: Data([1]), notes: Data()))
        var document = try #require(try find("d"))
        document.preview = nil
        try await store.save(document)
        #expect(try find("d")?.preview == nil)
        let isNil = Query<Document>().where(#Predicate { $0.preview == nil })
        #expect(try store.read { try $0.count(isNil) } == 1)
    }

    @Test func `a value is selected alone`() async throws {
        try await store.save(Document(id: "d", title: "One", body: Self.bytes(9)))
        let found = try store.read { try $0.select(Query<Document>(), \.body) }
        #expect(found == [Self.bytes(9)])
    }

    @Test func `undo brings the bytes back, until history is dropped`() async throws {
        var document = Document(id: "d", title: "One", body: Self.bytes(50))
        try await store.save(document)
        document.body = Self.bytes(60)
        try await store.save(document)
        let last = try store.read { try $0.lastSequence }
        try await store.undo(transaction: last)
        #expect(try find("d")?.body == Self.bytes(50))
        try await expectWhole()
    }

    @Test func `parts of an embedded struct can be external`() async throws {
        let whole = Whole(id: "w", part: Part(bytes: Self.bytes(5_000), more: nil))
        try await store.save(whole)
        #expect(try store.read { try $0.find(Whole.ID("w")) } == whole)
    }

    @Test func `a write that fails leaves a file that a collection takes`() async throws {
        struct Cut: Error {}
        await #expect(throws: Cut.self) {
            try await store.write { transaction in
                try transaction.save(Document(id: "d", title: "One", body: Self.bytes(10)))
                throw Cut()
            }
        }
        #expect(try find("d") == nil)
        #expect(try await files() == 0)
        try await store.save(Document(id: "d", title: "One", body: Self.bytes(10)))
        store.setCommitFault { throw Cut() }
        await #expect(throws: (any Error).self) {
            try await store.save(Document(id: "e", title: "Two", body: Self.bytes(20)))
        }
        store.setCommitFault(nil)
        #expect(try find("e") == nil)
        try await expectWhole()
        #expect(store.assets.folder.incomingCount == 0)
    }

    @Test
    func `bytes that are not here are told, and queries leave the record out until they come`()
        async throws
    {
        try await store.save(Document(id: "d", title: "One", body: Self.bytes(10)))
        try await store.save(Document(id: "e", title: "Two", body: Self.bytes(20)))
        let content = ContentKey(
            hash: SHA256.hash(of: Array(Self.bytes(10))))
        let path = store.assets.folder.path(content)
        try FileManager.default.moveItem(atPath: path, toPath: folder.root + "/away")
        #expect { try find("d") } throws: { ($0 as? StoreError)?.code == .notHere }
        // Not known as absent, so that nothing is saved in its place.
        await #expect(throws: StoreError.self) {
            try await store.write { try $0.find(Document.ID("d")) }
        }
        var titles = store.observe(Query<Document>()).makeAsyncIterator()
        #expect(try await titles.next()?.map(\.title) == ["Two"])
        _ = try await store.assets.add { try $0.write(Self.bytes(10)) }
        #expect(try await titles.next()?.map(\.title).sorted() == ["One", "Two"])
    }

    @Test func `a store in memory keeps none`() throws {
        let memory = try Store.inMemory(schema: StoreSchema(Document.self))
        #expect {
            try memory.write { try $0.save(Document(title: "One", body: Data())) }
        } throws: { ($0 as? StoreError)?.code == .inaccessible }
    }

    @Test func `a backup and an export have the bytes`() async throws {
        let document = Document(id: "d", title: "One", body: Self.bytes(3_000))
        try await store.save(document)
        try StoreBackup(of: store, to: folder.root + "/copy").make()
        let copy = try Store(
            at: folder.root + "/copy", schema: StoreSchema(Document.self, Whole.self))
        #expect(try copy.read { try $0.find(Document.ID("d")) } == document)
        let files = folder.root + "/files"
        #expect(try store.assets.export(to: URL(filePath: files)).files == 2)
        var lines: [UInt8] = []
        try store.export { lines += $0 }
        let other = try Store(
            at: folder.root + "/other", schema: StoreSchema(Document.self, Whole.self))
        _ = try await other.assets.importFiles(from: URL(filePath: files))
        var parts = [lines]
        try await other.importRecords(from: { parts.popLast() })
        #expect(try other.read { try $0.find(Document.ID("d")) } == document)
        #expect(try await other.assets.verify().isConsistent)
    }

    @Test func `an Asset becomes external and back, since rows are the same`() async throws {
        let document = Document(id: "d", title: "One", body: Self.bytes(30))
        try await store.save(document)
        store.close()
        let plain = try folder.open(StoreSchema(FileDocument.self, Whole.self))
        let found = try #require(try plain.read { try $0.find(FileDocument.ID("d")) })
        #expect(found.body.byteCount == 30)
        plain.close()
        let again = try folder.open(StoreSchema(Document.self, Whole.self))
        #expect(try again.read { try $0.find(Document.ID("d")) } == document)
    }
}
