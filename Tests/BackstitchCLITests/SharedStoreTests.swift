import ChildProcess
import Foundation
import Glibc
import SmallDisk
import TestBudget
import Testing
import Waiting

@testable import LMDB

/// Processes of two users, two PID namespaces and two mounts at one store. Root alone can have them.
@Suite(.budgeted(places: 2), .enabled(if: geteuid() == 0, "only root has other users"))
struct SharedStoreTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Runs a program as the first one of a PID namespace, as in a container.
    private static let namespace = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child"]
    private static let otherUser = [
        "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    ]
    private static let canUnshare = {
        let child = try? ChildProcess(namespace + ["/bin/true"])
        return (try? child?.wait()) == ChildProcess.Ending.exit(code: 0)
    }()

    /// Starts a process that makes transactions in a store, and then has it open until it is killed.
    private func writer(
        at path: String? = nil, through launcher: [String] = []
    ) throws -> ChildProcess {
        let (writers, transactions) = (4, 20)
        let child = try ChildProcess(
            launcher + [
                ChildProcess.path(ofBuilt: "BackstitchKillHelper"), path ?? fixture.path, "0",
                "plain", "\(transactions)",
            ])
        var lines = 0
        while lines < writers * transactions {
            let printed = child.output.availableData
            if printed.isEmpty { break }
            lines += printed.count { $0 == 10 }
        }
        #expect(lines == writers * transactions, "\(child.state)")
        return child
    }

    /// Expects that commands which look into a store are refused.
    private func expectRefusal(
        _ words: String, at path: String, through launcher: [String] = []
    ) throws {
        for arguments in [
            ["verify", path], ["log", path, "--last", "1"], ["backup", path, fixture.root + "/no"],
        ] {
            let result = try Runner.run(arguments, through: launcher)
            #expect(result.code == 2)
            #expect(result.complaint.contains(words), "\(result.complaint)")
            #expect(!result.complaint.contains("damaged"))
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.root + "/no"))
    }

    /// Expects that a store can be verified and copied, and the copy verified.
    private func expectReading(at path: String, through launcher: [String] = []) throws {
        let verified = try Runner.run(["verify", path], through: launcher)
        #expect(verified.code == 0, "\(verified.complaint)")
        let folder = fixture.root + "/copies-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        #expect(chmod(folder, 0o777) == 0)
        let made = try Runner.run(["backup", path, folder + "/copy"], through: launcher)
        #expect(made.code == 0, "\(made.complaint)")
        let copied = try Runner.run("verify", folder + "/copy")
        #expect(copied.code == 0, "\(copied.complaint)")
    }

    // MARK: PID namespaces

    @Test(.enabled(if: canUnshare, "there are no PID namespaces here"))
    func `of two processes with one number in two PID namespaces the second one gets the reason`()
        async throws
    {
        let child = try writer(through: Self.namespace)
        try expectRefusal("PID namespace", at: fixture.path, through: Self.namespace)
        // With a number of its own.
        try expectReading(at: fixture.path)
        try child.kill()
        // It ends a moment after the one that started it.
        try await eventually {
            try Runner.run(["verify", fixture.path], through: Self.namespace).code == 0
        }
    }

    @Test(.enabled(if: canUnshare, "there are no PID namespaces here"))
    func `a hub's folder is refused to a second process with one number as well`() throws {
        let folder = fixture.root + "/hub"
        let hub = try KillableHub(folder: folder, launcher: Self.namespace)
        for arguments in [
            ["users", "list", "--data", folder],
            ["backup", "--data", folder, "--backup", fixture.root + "/backup"],
        ] {
            let refused = try Runner.run(["hub"] + arguments, through: Self.namespace)
            #expect(refused.code == 2)
            #expect(refused.complaint.contains("PID namespace"), "\(refused.complaint)")
            let done = try Runner.run(["hub"] + arguments)
            #expect(done.code == 0, "\(done.complaint)")
        }
        try hub.killForGood()
    }

    // MARK: Without the right to write

    @Test(.enabled(if: MountedFolder.kinds.contains(.readOnly), "nothing can be mounted here"))
    func `through a read-only mount a store is read while nobody has it open, and never else`()
        throws
    {
        let child = try writer()
        let mounted = try MountedFolder(fixture.root, .readOnly)
        let path = mounted.path + "/store"
        try expectRefusal("mount the folder writable", at: path)
        try child.kill()
        try expectReading(at: path)
    }

    @Test
    func `a user who may only read the files reads them while nobody has the store open`() throws {
        let child = try writer()
        #expect(chmod(fixture.path, 0o755) == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.path) {
            #expect(chmod(fixture.path + "/" + name, 0o644) == 0)
        }
        try expectRefusal(
            "run it as the same user", at: fixture.path, through: Self.otherUser)
        try child.kill()
        try expectReading(at: fixture.path, through: Self.otherUser)
    }

    @Test(.enabled(if: !SmallDisk.kinds.isEmpty, "nothing can be mounted here"))
    func `a store that was not closed is read on a file system that has become read-only`() throws {
        let disk = try SmallDisk(.tmpfs(mebibytes: 16))
        let path = disk.path + "/store"
        try writer(at: path).kill()
        try disk.makeReadOnly()
        try expectReading(at: path)
    }

    // MARK: Overlay file systems

    @Test(.enabled(if: MountedFolder.kinds.contains(.overlay), "nothing can be mounted here"))
    func `a store in the lower layer of an overlay is changed in the upper one`() throws {
        try writer().kill()
        let before = try fixture.snapshot()
        let mounted = try MountedFolder(fixture.root, .overlay)
        let path = mounted.path + "/store"
        // Who had it open before sees no later state, and is told why by this.
        #expect(FileSystem.isOverlay(path) && !FileSystem.isOverlay("/proc/self"))
        let verified = try Runner.run("verify", path)
        #expect(verified.code == 0, "\(verified.complaint)")
        let child = try writer(at: path)
        let copied = try Runner.run("backup", path, mounted.path + "/copy")
        #expect(copied.code == 0, "\(copied.complaint)")
        try child.kill()
        for path in [path, mounted.path + "/copy"] {
            let verified = try Runner.run("verify", path)
            #expect(verified.code == 0, "\(verified.complaint)")
        }
        #expect(try fixture.snapshot() == before)
    }
}
