import CloudKitWire
import Foundation
import Glibc
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// Copies of a hub's folder, with files that are damaged, missing, new or gone.
@Suite(.budgeted) struct FolderCopyTests {
    private final class Root {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("copy-\(UUID().uuidString)").path

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private let root: Root
    private var source: String { root.path + "/hub" }
    private var target: String { root.path + "/copy" }
    private let file: HubFile
    private static let content = [UInt8](repeating: 7, count: 100_000)

    /// A hub with a user, whose database has a file that a record holds.
    init() async throws {
        root = try Root()
        let hub = try await Hub(at: root.path + "/hub")
        defer { hub.close() }
        try await hub.accounts.makeContainer("iCloud.x", environment: "development")
        let user = try await hub.accounts.signIn(
            "Ada", container: "iCloud.x", environment: "development")
        let realm = HubAccounts.Realm("iCloud.x", environment: "development")
        let partition = Partition(number: 1)
        let path = hub.assets.incomingPath([1])
        try hub.assets.write(Self.content, to: path)
        let checksum = FolderCopyTests.checksum(Self.content)
        let file = try #require(HubFile(partition, checksum))
        self.file = file
        try hub.assets.keep(path, as: file)
        try await hub.storage.write(to: [.global, partition]) { transaction in
            let row = try transaction.realm(realm)
            try transaction.makeDatabase(
                DatabaseAccess(
                    realm: row, scope: .own(user.userRecordName),
                    principal: .user(user.userRecordName), partition: partition),
                now: 0, HubLimits())
            var asset = AssetRow()
            asset.references = 1
            try transaction.put(AssetRow.key(file), asset)
        }
    }

    private static func checksum(_ bytes: [UInt8]) -> String { Digest.sha256(bytes).hexadecimal }

    private func path(in folder: String) -> String { "\(folder)/assets/1/\(file.checksum)" }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    private var left: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: root.path).sorted() }
    }

    @Test func `copies and what is made of them are for their owner alone`() throws {
        let restored = root.path + "/restored"
        _ = try Hub.backUp(source, to: target)
        _ = try Hub.restore(target, to: restored)
        for folder in [target, restored] {
            var names = ["data.mdb", "assets/\(file.partition.text)/\(file.checksum)"]
            names += [".", "assets", "assets/\(file.partition.text)"]
            for name in names {
                var status = stat()
                #expect(stat(folder + "/" + name, &status) == 0, "\(folder) \(name)")
                #expect(status.st_mode & 0o077 == 0, "\(folder) \(name)")
            }
        }
    }

    @Test func `a copy has the rows and the files, and nothing else`() async throws {
        // A file that is in no row, and damaged too.
        let other = try #require(HubFile(Partition(number: 9), String(repeating: "b", count: 64)))
        let files = try FolderFiles(folder: source + "/assets")
        let draft = files.incomingPath([2])
        try files.write([1], to: draft)
        try files.keep(draft, as: other)
        let report = try Hub.backUp(source, to: target)
        #expect(report.files == 1 && report.rows > 5 && report.bytes > Self.content.count)
        #expect(
            FileManager.default.contents(atPath: path(in: target)) == Data(Self.content))
        #expect(try Hub.verify(at: target).isHealthy)
        #expect(try left == ["copy", "hub"])
        let names = try FileManager.default.contentsOfDirectory(atPath: target).sorted()
        #expect(Set(names).isSubset(of: ["assets", "data.mdb", "lock.mdb"]))
        let again = try await Hub(at: target)
        again.close()
    }

    @Test func `a file that is damaged is found, and not copied`() throws {
        let damaged = Data([8] + Self.content.dropFirst())
        try damaged.write(to: URL(fileURLWithPath: path(in: source)))
        #expect(try Hub.diagnose(at: source).isHealthy)
        let found = try Hub.verify(at: source)
        #expect(found.findings.count == 1)
        #expect(found.findings.first?.contains("checksum") == true)
        #expect(message { _ = try Hub.backUp(source, to: target) }.contains("checksum"))
        #expect(try left == ["hub"])
    }

    @Test func `a file that is missing is found, and there is no copy`() throws {
        try FileManager.default.removeItem(atPath: path(in: source))
        #expect(try !Hub.verify(at: source).isHealthy)
        #expect(message { _ = try Hub.backUp(source, to: target) }.contains("is missing"))
        #expect(try left == ["hub"])
    }

    @Test func `what a copy left that was cut is taken away, and one under way is not disturbed`()
        throws
    {
        let staging = root.path + "/.copy.copying"
        try FileManager.default.createDirectory(
            atPath: staging + "/assets/1", withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: staging + "/data.mdb", contents: Data([1]))
        let descriptor = open(staging, O_RDONLY | O_DIRECTORY)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(message { _ = try Hub.backUp(source, to: target) }.contains("already"))
        #expect(FileManager.default.fileExists(atPath: staging + "/data.mdb"))
        close(descriptor)
        #expect(try Hub.backUp(source, to: target).files == 1)
        #expect(try left == ["copy", "hub"])
    }

    @Test func `a restore begins an epoch, and the backup stays as it is`() async throws {
        _ = try Hub.backUp(source, to: target)
        func epoch(_ folder: String) throws -> UInt64 {
            let storage = try LMDBHubStorage(at: folder)
            defer { storage.close() }
            return try storage.readNow { try $0.state().epoch }
        }
        let before = try epoch(target)
        #expect(try before == epoch(source))
        _ = try Hub.restore(target, to: root.path + "/restored")
        #expect(try epoch(root.path + "/restored") != before)
        #expect(try epoch(target) == before)
        #expect(try Hub.verify(at: root.path + "/restored").isHealthy)
    }

    @Test func `a folder of a newer format is not copied, with what to do`() throws {
        let newer = root.path + "/newer"
        try LMDBHubStorage(at: newer).close()
        try KeptHubTests.setFormat(#"{"format":2}"#, in: newer)
        let text = message { _ = try Hub.backUp(newer, to: target) }
        #expect(text.contains("format 2") && text.contains("or a later one"))
        #expect(message { _ = try Hub.backUp(root.path + "/none", to: target) }.contains("no hub"))
    }
}
