import CFaults
import Foundation
import Glibc
import Testing

@testable import LMDB

/// Failures of the device. One after the other, because all tests share the injector.
@Suite(.serialized) struct FaultTests {
    let fixture: Fixture
    let environment: Environment

    init() throws {
        fixture = try Fixture()
        environment = try fixture.open()
        try environment.save(["a": "1"])
    }

    private func arm(_ call: CFaultsCall, after number: Int = 0, times: Int = 1, _ reason: Int32) {
        let key = environment.core.key
        CFaultsArm(
            dev_t(key.device), ino_t(key.inode), call, Int32(number), Int32(times), reason)
    }

    @Test func `a full disk fails the commit, and everything goes on`() throws {
        arm(CFaultsWrite, times: 1000, ENOSPC)
        let error = #expect(throws: LMDBError.self) { try environment.save(["b": "2"]) }
        #expect(CFaultsDisarm() > 0)
        #expect(error?.code == .diskFull)
        #expect(error?.underlying == ENOSPC)
        #expect(try environment.entries() == ["a": "1"])
        try environment.save(["c": "3"])
        #expect(try environment.entries() == ["a": "1", "c": "3"])
    }

    @Test func `after a failed sync every call says to open again`() throws {
        arm(CFaultsSync, EIO)
        let error = #expect(throws: LMDBError.self) { try environment.save(["b": "2"]) }
        #expect(CFaultsDisarm() == 1)
        #expect(error?.code == .io)
        #expect(error?.message.contains("open it again") == true)
        #expect(code { try environment.save(["c": "3"]) } == .panicked)
        #expect(code { _ = try environment.entries() } == .panicked)
        #expect(code { _ = try environment.info } == .panicked)
        #expect(code { _ = try environment.checkReaders() } == .panicked)
        environment.close()
        let reopened = try fixture.open()
        #expect(try reopened.entries()["a"] == "1")
        try reopened.save(["c": "3"])
        #expect(try reopened.entries()["c"] == "3")
    }

    @Test(arguments: [EIO, ENOSPC], [false, true])
    func `whichever call fails, the file has all or nothing of the commit`(
        reason: Int32, fails: Bool
    ) throws {
        var environment = environment
        for call in [CFaultsWrite, CFaultsSync] {
            for number in 0..<5 {
                let before = try environment.entries()
                let key = environment.core.key
                CFaultsArm(
                    dev_t(key.device), ino_t(key.inode), call, Int32(number),
                    fails ? 1000 : 1, reason)
                let new = Dictionary(
                    uniqueKeysWithValues: (0..<20).map {
                        ("\(call.rawValue)-\(number)-\($0)", String(repeating: "x", count: 5000))
                    })
                let failure = code { try environment.save(new) }
                let failed = CFaultsDisarm()
                #expect((failure != nil) == (failed > 0))
                environment.close()
                environment = try fixture.open()
                let after = try environment.entries()
                let all = before.merging(new) { $1 }
                #expect(after == all || (failure != nil && after == before))
            }
        }
        environment.close()
        try Environment.verify(at: fixture.store)
    }

    @Test func `a relaxed commit doesn't wait for its meta page`() throws {
        environment.close()
        let relaxed = try fixture.open { $0.durability = .relaxed }
        let key = relaxed.core.key
        CFaultsArm(dev_t(key.device), ino_t(key.inode), CFaultsSync, 0, 1000, EIO)
        #expect(code { try relaxed.save(["b": "2"]) } == .io)
        #expect(CFaultsDisarm() == 1)
    }

    @Test func `relaxed commits are on disk after a sync, and after closing`() throws {
        environment.close()
        let relaxed = try fixture.open { $0.durability = .relaxed }
        let key = relaxed.core.key
        try relaxed.save(["b": "2"])
        CFaultsArm(dev_t(key.device), ino_t(key.inode), CFaultsSync, 0, 1, EIO)
        #expect(code { try relaxed.sync() } == .io)
        #expect(code { try relaxed.sync() } == .panicked)
        #expect(CFaultsDisarm() == 1)
        CFaultsArm(dev_t(key.device), ino_t(key.inode), CFaultsSync, 0, 1, EIO)
        relaxed.close()
        #expect(CFaultsDisarm() == 1)
    }

    @Test func `a temporary environment never syncs`() throws {
        let temporary = try Environment.temporary(options: Fixture.options())
        let key = temporary.core.key
        CFaultsArm(dev_t(key.device), ino_t(key.inode), CFaultsSync, 0, 1000, EIO)
        try temporary.save(["b": "2"])
        #expect(CFaultsDisarm() == 0)
    }
}
