import CFaults
import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct FolderTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    private func opening(
        _ path: String, _ change: (inout EnvironmentOptions) -> Void = { _ in }
    ) -> LMDBError.Code? {
        code { _ = try Environment.open(at: path, options: Fixture.options(change)).entries() }
    }

    /// Runs a closure as a user who may not write in the fixture.
    private func withoutRights<R>(_ body: () throws -> R) rethrows -> R {
        let user = CFaultsActAs(65534)
        defer { _ = CFaultsActAs(user) }
        return try body()
    }

    private func setMode(_ mode: mode_t, _ path: String) {
        #expect(chmod(path, mode) == 0)
    }

    @Test func `a missing folder is an error unless it may be created`() {
        #expect(opening(fixture.store) { $0.createsIfMissing = false } == .notFoundPath)
        #expect(opening(fixture.store) { $0.isReadOnly = true } == .notFoundPath)
        #expect(opening(fixture.root + "/no/such/parent") == .notFoundPath)
        #expect(opening("") == .notFoundPath)
        #expect(!FileManager.default.fileExists(atPath: fixture.store))
    }

    @Test func `a folder without a data file is an error unless it may be created`() throws {
        mkdir(fixture.store, 0o755)
        #expect(opening(fixture.store) { $0.createsIfMissing = false } == .notFoundPath)
        #expect(opening(fixture.store) == nil)
    }

    @Test func `a data file is created beside other files of the folder`() throws {
        mkdir(fixture.store, 0o755)
        let other = fixture.store + "/other"
        try Data([1]).write(to: URL(fileURLWithPath: other))
        #expect(opening(fixture.store + "/") == nil)
        #expect(FileManager.default.fileExists(atPath: other))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["store"])
    }

    @Test func `a file in place of the folder is an error`() throws {
        try Data([1]).write(to: URL(fileURLWithPath: fixture.store))
        #expect(opening(fixture.store) == .notADirectory)
        #expect(opening(fixture.store + "/inside") == .notADirectory)
    }

    @Test func `a folder in place of the data file is an error`() throws {
        mkdir(fixture.store, 0o755)
        mkdir(fixture.dataPath, 0o755)
        #expect(opening(fixture.store) == .foreignFile)
    }

    @Test func `a read-only folder opens for reading only`() throws {
        var environment = try fixture.open()
        try environment.save(["a": "1"])
        environment.close()
        unlink(fixture.store + "/lock.mdb")
        setMode(0o666, fixture.dataPath)
        setMode(0o555, fixture.store)
        defer { setMode(0o755, fixture.store) }
        try withoutRights {
            #expect(opening(fixture.store) == .readOnlyDirectory)
            environment = try fixture.open { $0.isReadOnly = true }
            #expect(try environment.entries() == ["a": "1"])
            #expect(code { try environment.save(["b": "2"]) } == .permissionDenied)
            environment.close()
        }
    }

    @Test func `nothing is created where nothing can be written`() {
        setMode(0o555, fixture.root)
        defer { setMode(0o755, fixture.root) }
        withoutRights {
            #expect(opening(fixture.store) == .readOnlyDirectory)
        }
    }

    @Test func `a data file of another user is refused`() throws {
        let environment = try fixture.open()
        environment.close()
        setMode(0o000, fixture.dataPath)
        withoutRights {
            #expect(opening(fixture.store) == .permissionDenied)
            #expect(opening(fixture.store) { $0.isReadOnly = true } == .permissionDenied)
        }
        setMode(0o444, fixture.dataPath)
        withoutRights { #expect(opening(fixture.store) == .permissionDenied) }
    }

    @Test func `reading only never writes, and sees what others wrote`() throws {
        var environment = try fixture.open()
        try environment.save(["a": "1"])
        environment.close()
        environment = try fixture.open { $0.isReadOnly = true }
        #expect(try environment.entries() == ["a": "1"])
        #expect(CFaultsWriteInChild(fixture.store, 1 << 30, 1, 3) == 0)
        #expect(try environment.entries().count == 2)
        #expect(code { try environment.save(["a": "2"]) } == .permissionDenied)
    }

    @Test func `writing to a folder that was deleted is refused`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        try FileManager.default.removeItem(atPath: fixture.store)
        #expect(code { try environment.save(["b": "2"]) } == .notFoundPath)
        #expect(try environment.entries() == ["a": "1"])
        let fresh = try fixture.open()
        #expect(try fresh.entries() == [:])
        environment.close()
        try fresh.save(["c": "3"])
        #expect(try fresh.entries() == ["c": "3"])
    }

    @Test func `writing without the lock file is refused`() throws {
        let environment = try fixture.open()
        unlink(fixture.store + "/lock.mdb")
        #expect(code { try environment.save(["b": "2"]) } == .notFoundPath)
        #expect(try environment.entries() == [:])
        environment.close()
        let reopened = try fixture.open()
        try reopened.save(["b": "2"])
    }

    @Test func `a data file that was replaced while it was open is refused`() throws {
        let environment = try fixture.open()
        try environment.copy(to: fixture.root + "/copy")
        rename(fixture.root + "/copy/data.mdb", fixture.dataPath)
        #expect(opening(fixture.store) == .busy)
        #expect(code { try environment.save(["b": "2"]) } == .notFoundPath)
        environment.close()
        #expect(opening(fixture.store) == nil)
    }

    @Test func `what a crash left of a creation is removed by the next one`() throws {
        let leftover = fixture.root + "/.store.draft-abcdef"
        mkdir(leftover, 0o755)
        try Data([1]).write(to: URL(fileURLWithPath: leftover + "/data.mdb"))
        let used = try StagingFolder(of: Folder(path: fixture.store))
        #expect(!FileManager.default.fileExists(atPath: leftover))
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        let path = used.folder.path
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `a file that isn't synced is refused`() {
        #expect(opening(fixture.store) { $0.durability = .none } == .other)
    }

    @Test func `many threads that create the same environment share it`() throws {
        let group = DispatchGroup()
        let lock = NSLock()
        let opened = Box<[Environment]>([])
        for _ in 0..<8 {
            group.enter()
            Thread.detachNewThread { [fixture] in
                if let environment = try? fixture.open() {
                    lock.withLock { opened.value.append(environment) }
                }
                group.leave()
            }
        }
        group.wait()
        #expect(opened.value.count == 8)
        let cores = Set(opened.value.map { ObjectIdentifier($0.core) })
        #expect(cores.count == 1)
    }

    @Test func `an overlay file system is known by its number, and told`() {
        #expect(FileSystem.isOverlay(type: 0x794C_7630) && !FileSystem.isOverlay(type: 0xEF53))
        #expect(!FileSystem.isOverlay("/no/such/path"))
        #expect(LMDBError.copiedUp("j").message.contains("Open the store again"))
    }

    @Test func `network file systems are known by their numbers`() {
        #expect(FileSystem.networkName(type: 0x6969) == "NFS")
        #expect(FileSystem.networkName(type: 0xFF53_4D42) == "CIFS")
        #expect(FileSystem.networkName(type: 0x6573_5546) == "FUSE")
        // ext4, tmpfs, btrfs, xfs, overlayfs
        for type: UInt32 in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630] {
            #expect(FileSystem.networkName(type: type) == nil)
        }
    }
}
