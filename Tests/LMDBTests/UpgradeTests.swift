import CrashStates
import Foundation
import TestBudget
import Testing
import XXHash

@testable import LMDB

/// Folders in which an earlier version kept the file `redo`.
@Suite(.exclusiveFaults, .budgeted) struct UpgradeTests {
    private let fixture: Fixture
    private let running = BootID(testing: 1)

    init() throws {
        fixture = try Fixture(inMemory: true)
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        environment.close()
    }

    private var redoPath: String { fixture.store + "/redo" }

    /// Writes a file with one header; the other one was never written.
    private func makeRedo(
        _ state: RedoHeader.State, of boot: BootID, isSecond: Bool = false
    ) throws {
        var header = [UInt8](repeating: 0, count: RedoHeader.byteCount)
        header.replaceSubrange(0..<8, with: Array("BSTREDO1".utf8))
        header.store(7, at: 8)
        header[16] = state.rawValue
        header.store(boot.high, at: 32)
        header.store(boot.low, at: 40)
        let hash = header.withUnsafeBytes { Checksum.xxh64(.init(rebasing: $0[..<504])) }
        header.store(hash, at: 504)
        var bytes = [UInt8](repeating: 0, count: 8_192 + 1 << 20)
        let offset = isSecond ? RedoHeader.secondOffset : 0
        bytes.replaceSubrange(offset..<offset + header.count, with: header)
        try Data(bytes).write(to: URL(fileURLWithPath: redoPath))
    }

    private func open(isReadOnly: Bool = false) throws -> Environment {
        try fixture.openJournaled {
            $0.boot = running
            $0.isReadOnly = isReadOnly
        }
    }

    @Test(arguments: [RedoHeader.State.clean, .active], [false, true])
    func `a file that is clean or of the running system goes, once the data file is on disk`(
        state: RedoHeader.State, isSecond: Bool
    ) throws {
        try makeRedo(state, of: running, isSecond: isSecond)
        let reader = try open(isReadOnly: true)
        #expect(try reader.entries() == ["a": "1"])
        reader.close()
        #expect(FileManager.default.fileExists(atPath: redoPath))
        var environment: Environment?
        let recording = try Recording(of: fixture.store, names: ["data.mdb", "redo"]) {
            environment = try open()
        }
        defer { environment?.close() }
        #expect(!FileManager.default.fileExists(atPath: redoPath))
        #expect(try environment?.entries() == ["a": "1"])
        #expect(
            recording.events.contains {
                if case .syncEnded("data.mdb", _) = $0 { true } else { false }
            })
    }

    @Test(arguments: [true, false])
    func `commits that a power cut left in the file alone are refused`(isReadOnly: Bool) throws {
        for (state, boot) in [
            (RedoHeader.State.active, BootID(testing: 2)), (.mustRecover, running),
        ] {
            try makeRedo(state, of: boot)
            let before = FolderImage(of: fixture.store, names: ["data.mdb", "redo"])
            let error = #expect(throws: LMDBError.self) { try open(isReadOnly: isReadOnly) }
            #expect(error?.code == .damaged)
            #expect(error?.message.contains("open the folder once with that version") == true)
            #expect(
                code {
                    _ = try EnvironmentFiles(at: fixture.store).inspect(
                        names: [], boot: running
                    ) { _ in }
                } == .damaged)
            let after = FolderImage(of: fixture.store, names: ["data.mdb", "redo"])
            #expect(after.files == before.files)
        }
    }

    @Test func `a file that a crash left unfinished goes`() throws {
        for bytes in [Data(), Data(count: 100), Data(count: 20_000)] {
            try bytes.write(to: URL(fileURLWithPath: redoPath))
            let environment = try open()
            #expect(try environment.entries() == ["a": "1"])
            environment.close()
            #expect(!FileManager.default.fileExists(atPath: redoPath))
        }
    }

    @Test func `a process of an earlier version that has it open is named`() async throws {
        let environment = try fixture.open()
        try makeRedo(.active, of: try #require(BootID.current))
        // Another process opens what this one has open.
        await #expect(processExitsWith: .success) { [path = fixture.store as String] in
            let error = #expect(throws: LMDBError.self) {
                try Environment.open(at: path, options: Fixture.options())
            }
            #expect(error?.code == .busy)
            #expect(error?.message.contains("with an earlier version") == true)
        }
        #expect(FileManager.default.fileExists(atPath: redoPath))
        environment.close()
        #expect(try fixture.open().entries() == ["a": "1"])
        #expect(!FileManager.default.fileExists(atPath: redoPath))
    }
}
