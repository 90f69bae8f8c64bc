import Backstitch
import BackstitchCore
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchLog
@testable import BackstitchStore

@Entity private struct Picture: Equatable {
    var id = ID()
    var title: String
    var image: Asset?
    var pages: [Asset] = []
}

/// The contents of files beside the database, and who names them.
@Suite(.budgeted) struct AssetStoreTests {
    private let folder: TemporaryFolder
    private let store: Store

    init() throws {
        folder = try TemporaryFolder()
        store = try folder.open(StoreSchema(Picture.self))
    }

    private func add(_ text: String, name: String? = nil) async throws -> Asset {
        try await store.assets.add(contentType: "text/plain", fileName: name) {
            try $0.write(Array(text.utf8))
        }
    }

    private func text(_ asset: Asset) async throws -> String {
        let reader = try await store.assets.open(asset)
        return String(
            decoding: try reader.read(at: 0, count: Int(reader.byteCount)), as: UTF8.self)
    }

    private func path(_ asset: Asset) throws -> String {
        store.assets.folder.path(
            ContentKey(hash: try #require(ContentHash.bytes(asset.content ?? ""))))
    }

    /// Removes what nothing names, however new it is.
    private func collect() async throws -> Int {
        try await store.assets.collect(addedBefore: .distantFuture).files
    }

    private func expectWhole() async throws {
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }

    // MARK: Adding and reading

    @Test func `a file goes in and comes out, with its hash, size and name`() async throws {
        let source = folder.root + "/letter.txt"
        let bytes = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: URL(filePath: source))
        let asset = try await store.assets.add(
            contentsOf: URL(filePath: source), contentType: "text/plain")
        #expect(asset.content == SHA256.hexadecimal(of: Array(bytes)))
        #expect(asset.byteCount == 700_000 && asset.fileName == "letter.txt")
        try await store.save(Picture(id: "p", title: "Letter", image: asset))
        let found = try #require(try store.read { try $0.find(Picture.self, "p") })
        #expect(found.image == asset)
        let reader = try await store.assets.open(asset)
        #expect(try reader.read(at: 699_990, count: 100) == bytes[699_990...])
        #expect(try reader.read(at: 800_000, count: 1) == Data())
        var read = Data()
        for try await chunk in reader.chunks(of: 64_000) {
            #expect(chunk.count <= 64_000)
            read += chunk
        }
        #expect(read == bytes)
        #expect(throws: StoreError.self) { try reader.read(at: -1, count: 1) }
        #expect(store.assets.folder.incomingCount == 0)
        try await expectWhole()
    }

    @Test func `the same content is kept once, whatever its name`() async throws {
        let (one, other) = (try await add("same", name: "a"), try await add("same", name: "b"))
        #expect(one != other && one.hasSameContent(as: other))
        #expect(store.assets.usage().files == 1 && store.assets.usage().bytes == 4)
        #expect(store.assets.folder.incomingCount == 0)
    }

    /// - Parameter moment: When the second sender's file comes: before the first one's, in between, or after.
    @Test(arguments: 0...2)
    func `of two senders of a content the first one's file stays, which somebody reads`(
        moment: Int
    ) throws {
        let contents = store.assets.folder
        let writers = [try AssetWriter(contents), try AssetWriter(contents)]
        defer { for writer in writers { writer.release() } }
        for writer in writers { try writer.write(Array("same".utf8)) }
        let (first, second) = (try writers[0].end(), try writers[1].end())
        let (key, thread) = (first.content, pthread_self())
        let reader = Locked<Int32?>(nil)
        @Sendable func open() {
            reader.withLock { $0 = $0 ?? Glibc.open(contents.path(key), O_RDONLY | O_CLOEXEC) }
        }
        let hasCome = Locked(moment != 1)
        let hook = TestPoint.hook { [path = second.path] point in
            guard "\(point)" == "a content gets its name", pthread_self() == thread,
                !hasCome.withLock({ hasCome in
                    defer { hasCome = true }
                    return hasCome
                })
            else { return }
            try? contents.keep(path, as: key)
            open()
        }
        defer { TestPoint.unhook(hook) }
        for file in moment == 0 ? [second, first] : moment == 1 ? [first] : [first, second] {
            try contents.keep(file.path, as: key)
            open()
        }
        let descriptor = try #require(reader.withLock { $0 })
        defer { close(descriptor) }
        var (opened, named) = (stat(), stat())
        #expect(fstat(descriptor, &opened) == 0)
        #expect(stat(contents.path(key), &named) == 0)
        #expect(opened.st_ino == named.st_ino && named.st_nlink == 1 && named.st_size == 4)
        #expect(hasCome.withLock { $0 } && contents.incomingCount == 0)
    }

    @Test func `a download writes to no file that has the name of a content`() async throws {
        let asset = try await add("whole")
        let key = ContentKey(hash: try #require(ContentHash.bytes(asset.content ?? "")))
        let partial = store.directory.path + "/blobs/partial/" + key.text
        let whole = try path(asset)
        #expect(link(whole, partial) == 0)
        let (begun, descriptor) = try store.assets.folder.beginPartial(key)
        defer { close(descriptor) }
        var status = stat()
        #expect(fstat(descriptor, &status) == 0)
        #expect(status.st_nlink == 1 && status.st_size == 0)
        #expect(begun == partial)
        #expect(try await text(asset) == "whole")
    }

    @Test func `an empty file is one too`() async throws {
        let asset = try await add("")
        #expect(asset.byteCount == 0)
        #expect(try await text(asset) == "")
    }

    @Test func `a closure that fails leaves nothing behind`() async throws {
        await #expect(throws: CancellationError.self) {
            _ = try await store.assets.add { writer in
                try writer.write(Array("begun".utf8))
                throw CancellationError()
            }
        }
        #expect(store.assets.usage().files == 0 && store.assets.folder.incomingCount == 0)
    }

    @Test func `a file that can't be read is told`() async throws {
        let error = await #expect(throws: StoreError.self) {
            _ = try await store.assets.add(contentsOf: URL(filePath: folder.root + "/none"))
        }
        #expect(error?.code == .inaccessible)
    }

    @Test func `a store in memory keeps no files`() async throws {
        let memory = try Store.inMemory(schema: StoreSchema(Picture.self))
        let error = await #expect(throws: StoreError.self) {
            _ = try await memory.assets.add { try $0.write([1]) }
        }
        #expect(error?.code == .inaccessible)
    }

    @Test func `a record can't hold a file whose content nobody has`() async throws {
        let unknown = Asset(content: SHA256.hexadecimal(of: [7]), byteCount: 1)
        let error = await #expect(throws: StoreError.self) {
            try await store.save(Picture(title: "x", image: unknown))
        }
        #expect(error?.code == .assetMissing)
        let listed = await #expect(throws: StoreError.self) {
            try await store.save(Picture(title: "x", pages: [unknown]))
        }
        #expect(listed?.code == .assetMissing)
    }

    @Test func `what is not here says so, if nobody can fetch it`() async throws {
        let remote = Asset(content: nil, serviceChecksum: "AVlRbrfU", byteCount: 5)
        try await store.save(Picture(id: "p", title: "x", image: remote))
        let error = await #expect(throws: StoreError.self) {
            _ = try await store.assets.open(remote)
        }
        #expect(error?.code == .notHere)
        #expect(try !store.assets.isHere(remote))
    }

    // MARK: References

    @Test func `a content stays as long as a record, the log or a list names it`() async throws {
        let (image, page) = (try await add("image"), try await add("page"))
        try await store.save(Picture(id: "p", title: "x", image: image, pages: [page]))
        #expect(try await collect() == 0)
        try await store.save(Picture(id: "p", title: "x", image: nil, pages: []))
        #expect(try await collect() == 0, "undo and history may need them")
        #expect(try await text(image) == "image")
        try await expectWhole()
        _ = try await store.write { try $0.delete(Picture.ID("p")) }
        #expect(try await collect() == 0)
        try await expectWhole()
    }

    @Test func `what compaction drops is collected, and what it keeps is not`() async throws {
        let (old, new) = (try await add("old"), try await add("new"))
        try await store.save(Picture(id: "p", title: "x", image: old))
        try await store.save(Picture(id: "p", title: "x", image: new))
        // The service has all of it.
        try await store.withLogWriter { log in
            let entity = try #require(log.catalog.table(named: "Picture")?.number)
            try log.marks.acknowledge(
                entity, RecordKey("p"), through: log.head,
                version: ServerVersion(changeTag: "1", modifiedMilliseconds: 1))
            try log.marks.setOutboxFloor(log.head)
        }
        #expect(try await collect() == 0)
        try await store.compact(.keepUnsyncedOnly)
        try await expectWhole()
        #expect(try await collect() == 1)
        #expect(try await text(new) == "new")
        #expect(!FileManager.default.fileExists(atPath: try path(old)))
        try await expectWhole()
    }

    @Test func `what nobody saved within the hour is collected by a compaction`() async throws {
        _ = try await add("kept for an hour")
        try await store.compact(.keepUnsyncedOnly)
        #expect(store.assets.usage().files == 1)
        #expect(try await collect() == 1)
        #expect(store.assets.usage().files == 0)
    }

    @Test func `a pinned content is not collected until it is unpinned`() async throws {
        let asset = try await add("pinned")
        try await store.assets.pin(asset)
        #expect(try await collect() == 0)
        try await store.assets.unpin(asset)
        #expect(try await collect() == 1)
    }

    @Test func `a content that was collected can't be saved any more, and can be added again`()
        async throws
    {
        let asset = try await add("again")
        #expect(try await collect() == 1)
        await #expect(throws: StoreError.self) {
            try await store.save(Picture(title: "x", image: asset))
        }
        let added = try await add("again")
        try await store.save(Picture(title: "x", image: added))
        #expect(try await collect() == 0)
    }

    @Test func `an open reader goes on when its content is collected`() async throws {
        let asset = try await add("still here")
        let reader = try await store.assets.open(asset)
        #expect(try await collect() == 1)
        #expect(try reader.read(at: 0, count: 5) == Data("still".utf8))
    }

    @Test func `what the service is not known to have is not evicted`() async throws {
        try await store.save(Picture(title: "x", image: try await add("unsynced")))
        #expect(try await store.assets.evict(downTo: 0).files == 0)
        #expect(store.assets.usage().files == 1)
    }

    @Test func `erasing a record lets its contents go`() async throws {
        let asset = try await add("secret")
        try await store.save(Picture(id: "p", title: "x", image: asset))
        try await store.withLogWriter { log in
            let entity = try #require(log.catalog.table(named: "Picture")?.number)
            try log.marks.acknowledge(
                entity, RecordKey("p"), through: log.head,
                version: ServerVersion(changeTag: "1", modifiedMilliseconds: 1))
        }
        _ = try await store.write { try $0.delete(Picture.ID("p")) }
        var traces = RecordTraces(
            of: StoredRecordID(
                entity: try #require(store.catalogSnapshot.table(named: "Picture")?.number),
                key: RecordKey("p")))
        try store.read { try traces.search($0.reader) }
        let found = traces
        try await store.withLogWriter { try RecordEraser($0).erase(found) }
        #expect(try await collect() == 1)
        try await expectWhole()
    }

    // MARK: Damage and crashes

    @Test func `a content that is not what its name says is moved away, and told as missing`()
        async throws
    {
        let asset = try await add("right")
        try await store.save(Picture(title: "x", image: asset))
        #expect(try await store.assets.verify().isConsistent)
        try Data("wrong".utf8).write(to: URL(filePath: try path(asset)))
        let report = try await store.assets.verify()
        #expect(report.corrupt == [asset.content] && report.missing == [asset.content])
        #expect(report.checked == 1 && !report.isConsistent)
        #expect(try !store.assets.isHere(asset))
        _ = try await add("right")
        #expect(try await store.assets.verify().isConsistent)
    }

    @Test(arguments: [0, 3, 9])
    func `a file that was emptied, cut or grown is not opened`(bytes: Int) async throws {
        let asset = try await add("right")
        try await store.save(Picture(title: "x", image: asset))
        try Data(repeating: 7, count: bytes).write(to: URL(filePath: try path(asset)))
        let error = await #expect(throws: StoreError.self) { try await store.assets.open(asset) }
        #expect(error?.code == .assetCorrupt)
        #expect(error?.message.contains("\(bytes) bytes, and had 5") == true)
        #expect(try await store.assets.verify().corrupt == [asset.content])
        #expect(try await text(try await add("right")) == "right")
    }

    @Test func `a pipe or a link in the place of a file is moved away, and nobody waits for it`()
        async throws
    {
        let (piped, linked) = (try await add("piped"), try await add("linked"))
        try await store.save(Picture(title: "x", image: piped, pages: [linked]))
        let (pipe, link) = (try path(piped), try path(linked))
        let other = folder.root + "/other"
        try FileManager.default.moveItem(atPath: link, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: other)
        try FileManager.default.removeItem(atPath: pipe)
        #expect(mkfifo(pipe, 0o600) == 0)
        for asset in [piped, linked] {
            #expect(try !store.assets.isHere(asset))
            let error = await #expect(throws: StoreError.self) {
                try await store.assets.open(asset)
            }
            #expect(error?.code == .notHere)
        }
        let source = await #expect(throws: StoreError.self) {
            try await store.assets.add(contentsOf: URL(filePath: pipe))
        }
        #expect(source?.code == .inaccessible)
        let report = try await store.assets.verify()
        #expect(Set(report.corrupt) == Set([piped, linked].compactMap(\.content)))
        #expect(report.checked == 2)
        #expect(FileManager.default.fileExists(atPath: other))
        #expect(try await store.assets.verify().checked == 0)
        #expect(try await text(try await add("piped")) == "piped")
    }

    @Test func `what a crash left half written goes, and what is being written stays`()
        async throws
    {
        _ = try await add("makes the folders")
        let incoming = store.directory.path + "/blobs/incoming"
        try Data("half".utf8).write(to: URL(filePath: incoming + "/left"))
        _ = try await store.assets.add { writer in
            try writer.write([1])
            _ = try await collect()
            #expect(store.assets.folder.incomingCount == 1, "that of this writer")
            try writer.write([2])
        }
        #expect(store.assets.folder.incomingCount == 0)
    }

    @Test func `a commit that fails after a content was removed leaves it to the next collection`()
        async throws
    {
        let asset = try await add("gone")
        struct Cut: Error {}
        store.setCommitFault { throw Cut() }
        await #expect(throws: (any Error).self) { _ = try await collect() }
        store.setCommitFault(nil)
        // The file went and the note did not: nothing can come to hold it.
        await #expect(throws: StoreError.self) {
            try await store.save(Picture(title: "x", image: asset))
        }
        _ = try await collect()
        #expect(try store.read { try $0.reader.meta.contentNotes().isEmpty })
    }

    @Test func `a backup has the files that records hold`() async throws {
        let (held, free) = (try await add("held"), try await add("free"))
        try await store.save(Picture(id: "p", title: "x", image: held))
        let copyPath = folder.root + "/copy"
        try StoreBackup(of: store, to: copyPath).make()
        let copy = try Store(at: copyPath, schema: StoreSchema(Picture.self))
        let reader = try await copy.assets.open(held)
        #expect(try reader.read(at: 0, count: 9) == Data("held".utf8))
        #expect(try !copy.assets.isHere(free))
        #expect(try await copy.assets.verify().isConsistent)
    }
}
