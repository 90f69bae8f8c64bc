import CFaults
import CrashStates
import Foundation
import Testing

@testable import LMDB

/// Commits through the redo file. One after the other, because they share the recorder.
@Suite(.serialized, .exclusiveFaults) struct RedoTests {
    static let before = BootID(testing: 1)
    static let after = BootID(testing: 2)
    static let names = ["data.mdb", "redo"]

    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    static func open(_ path: String, boot: BootID, usesRedoFile: Bool = true) throws -> Environment
    {
        try Environment.open(
            at: path,
            options: Fixture.options {
                $0.usesRedoFile = usesRedoFile
                $0.boot = boot
            })
    }

    private func open(boot: BootID = before, usesRedoFile: Bool = true) throws -> Environment {
        try Self.open(fixture.store, boot: boot, usesRedoFile: usesRedoFile)
    }

    private var header: RedoHeader? {
        get throws { try RedoFile(in: Folder(path: fixture.store), forWriting: false)?.header() }
    }

    @Test func `lone commits make no redo file`() throws {
        let environment = try open()
        try environment.save(["a": "1"])
        #expect(try header == nil)
        environment.close()
        #expect(try header == nil)
    }

    @Test func `a run of commits goes through the redo file and leaves it clean`() throws {
        let environment = try open()
        for number in 0..<300 { try environment.save(["\(number % 50)": "\(number)"]) }
        #expect(try header?.state == .active)
        #expect(try header?.base.transaction ?? 0 > 100)
        environment.close()
        #expect(try header?.state == .clean)
        #expect(try open(boot: Self.after).entries()["49"] == "299")
    }

    @Test func `a large commit between small ones is synced as a whole`() throws {
        let environment = try open()
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        try environment.save(["large": String(repeating: "x", count: 300_000)])
        #expect(try header?.state == .clean)
        for number in 0..<10 { try environment.save(["b": "\(number)"]) }
        #expect(try header?.state == .active)
        environment.close()
        #expect(try open().entries().count == 3)
    }

    @Test func `another process that writes leaves the redo file clean first`() async throws {
        let environment = try open()
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        #expect(try header?.state == .active)
        await #expect(processExitsWith: .success) { [path = fixture.store as String] in
            let environment = try RedoTests.open(path, boot: RedoTests.before)
            try environment.save(["child": "1"])
            let header = try RedoFile(in: Folder(path: path))?.header()
            #expect(header?.state == .clean)
        }
        for number in 10..<20 { try environment.save(["a": "\(number)"]) }
        #expect(try header?.state == .active)
        #expect(try environment.entries() == ["a": "19", "child": "1"])
    }

    @Test func `what a process that was killed committed is there, also after a power cut`()
        async throws
    {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.store as String] in
            let environment = try RedoTests.open(path, boot: RedoTests.before)
            for number in 0..<10 { try environment.save(["a": "\(number)"]) }
            kill(getpid(), SIGKILL)
        }
        #expect(try header?.state == .active)
        let image = FolderImage(of: fixture.store, names: Self.names)
        for (name, boot) in [("same", Self.before), ("other", Self.after)] {
            let path = fixture.root + "/" + name
            try image.write(to: path)
            let environment = try Self.open(path, boot: boot)
            #expect(try environment.entries() == ["a": "9"])
            for number in 0..<10 { try environment.save(["b": "\(number)"]) }
            environment.close()
            #expect(
                try Self.open(path, boot: BootID(testing: 3)).entries() == ["a": "9", "b": "9"])
        }
    }

    @Test func `the use ends by itself when nothing is written`() throws {
        let environment = try open()
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        let end = ContinuousClock.now + .seconds(30)
        while try header?.state == .active, ContinuousClock.now < end { usleep(5_000) }
        #expect(try header?.state == .clean)
        #expect(try environment.info.oldestReader == environment.info.lastTransaction)
    }

    @Test func `a redo file beside another data file is refused and changes nothing`() throws {
        let environment = try open()
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        var image = FolderImage(of: fixture.store, names: Self.names)
        environment.close()
        let other = try Fixture()
        let otherEnvironment = try Self.open(other.store, boot: Self.before)
        try otherEnvironment.save(["b": String(repeating: "b", count: 100)])
        otherEnvironment.close()
        image.files["data.mdb"] = FolderImage(of: other.store, names: Self.names).files["data.mdb"]
        let path = fixture.root + "/mixed"
        try image.write(to: path)
        #expect(code { _ = try Self.open(path, boot: Self.after) } == .damaged)
        #expect(FolderImage(of: path, names: Self.names).files == image.files)
    }

    @Test func `a file that lost writes is recovered in the same system, and refused before`()
        throws
    {
        let environment = try open()
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        environment.core.redo?.dataIsLost()
        #expect(code { try environment.save(["a": "10"]) } == .panicked)
        #expect(try header?.state == .mustRecover)
        environment.close()
        #expect(try header?.state == .mustRecover)
        let reopened = try open()
        #expect(try reopened.entries() == ["a": "9"])
        #expect(try header?.state == .clean)
    }

    @Test(arguments: [CFaultsWrite, CFaultsSync], [EIO, ENOSPC])
    func `whichever call on the redo file fails, the commit is there wholly or not at all`(
        call: CFaultsCall, reason: Int32
    ) throws {
        for number in 0..<4 {
            let fixture = try Fixture()
            let environment = try Self.open(fixture.store, boot: Self.before)
            for number in 0..<10 { try environment.save(["a": "\(number)"]) }
            let key = try #require(try FileKey(path: fixture.store + "/redo"))
            CFaultsArm(
                dev_t(key.device), ino_t(key.inode), call, Int32(number), 1, reason)
            var acknowledged = 9
            for number in 10..<16 {
                do {
                    try environment.save(["a": "\(number)"])
                    acknowledged = number
                } catch {
                    break
                }
            }
            #expect(CFaultsDisarm() <= 1)
            let image = FolderImage(of: fixture.store, names: Self.names)
            environment.close()
            let path = fixture.root + "/cut"
            try image.write(to: path)
            #expect(try Self.open(path, boot: Self.after).entries() == ["a": "\(acknowledged)"])
            #expect(
                try Self.open(fixture.store, boot: Self.before).entries() == [
                    "a": "\(acknowledged)"
                ])
        }
    }
}
