import CFaults
import CrashStates
import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

/// Failures of the device. One after the other, because all tests share the injector.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct FaultTests {
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
        try EnvironmentFiles(at: fixture.store).verify()
    }

    @Test(arguments: [false, true])
    func `a write that is cut short fails the commit as a full disk does`(
        usesJournal: Bool
    ) throws {
        environment.close()
        var limits = JournalLimits.withoutPauses
        limits.changeBytesMax = 64 << 10
        let environment = try fixture.openJournaled(usesJournal ? limits : nil)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        var (number, cut, expected) = (0, 1, try environment.entries())
        var unknown = 0
        while cut > 0, unknown == 0 {
            let new = Dictionary(
                uniqueKeysWithValues: (0..<40).map {
                    ("\(number)-\($0)", String(repeating: "x", count: 1 + 900 * ($0 % 10)))
                })
            arm(CFaultsWrite, after: number, 0)
            let failure = code { try environment.save(new) }
            cut = Int(CFaultsDisarm())
            number += 1
            // The journal may give way, and the commit runs again.
            #expect(failure == nil || cut > 0)
            if !usesJournal { #expect((failure != nil) == (cut > 0)) }
            if failure == nil {
                expected.merge(new) { $1 }
            } else if failure == .diskFull {
                #expect(try environment.entries() == expected)
                try environment.save(["b": "\(number)"])
                expected["b"] = "\(number)"
            } else {
                // The last one is the meta page.
                #expect(failure == .io)
                unknown += 1
                continue
            }
            #expect(try environment.entries() == expected)
        }
        #expect(number > 2)
        #expect(unknown == 1)
        environment.close()
        let reopened = try fixture.open()
        let entries = try reopened.entries()
        reopened.close()
        #expect(expected.allSatisfy { entries[$0.key] == $0.value })
        try EnvironmentFiles(at: fixture.store).verify()
    }

    @Test func `on a full disk what frees space has that of the journal`() throws {
        environment.close()
        var limits = JournalLimits.withoutPauses
        // Too little space for records, so that commits go into the data file.
        limits.freeBytesMin = .max
        let environment = try fixture.openJournaled(limits)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        #expect(environment.waitingRecords == 0)
        let journal = fixture.journalPath
        func size() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int ?? 0
        }
        #expect(try size() > 1 << 20)
        func isFull(_ body: () throws -> Void) throws -> Bool {
            do {
                try body()
                return false
            } catch let error as LMDBError where error.code == .diskFull {
                return true
            }
        }
        arm(CFaultsWrite, times: 1, ENOSPC)
        #expect(try isFull { try environment.save(["b": "1"]) })
        #expect(CFaultsDisarm() == 1)
        #expect(try size() > 1 << 20)
        arm(CFaultsWrite, times: 1, ENOSPC)
        try environment.save(["b": "2"], frees: true)
        #expect(CFaultsDisarm() == 1)
        #expect(try size() == 12_288)
        // Others have what is left when the journal has its blocks again.
        var status = stat()
        stat(journal, &status)
        CFaultsArm(status.st_dev, status.st_ino, CFaultsWrite, 0, 1_000, ENOSPC)
        #expect(try isFull { try environment.save(["b": "3"]) })
        try environment.save(["b": "4"], frees: true)
        #expect(CFaultsDisarm() == 1)
        #expect(try size() == 12_288)
        #expect(try environment.entries() == ["a": "9", "b": "4"])
        try environment.save(["c": "1"])
        #expect(try size() > 1 << 20)
        environment.close()
        #expect(try fixture.open().entries() == ["a": "9", "b": "4", "c": "1"])
    }

    @Test(arguments: 0..<6)
    func `without space for the journal commits do without it, or change nothing`(failing: Int)
        throws
    {
        environment.close()
        try? FileManager.default.removeItem(atPath: fixture.journalPath)
        let environment = try fixture.openJournaled(.withoutPauses)
        let path = fixture.journalPath
        var last = "none"
        for number in 0..<20 {
            CFaultsCountShort(path, Int32(failing), true)
            defer {
                var failed: Int32 = 0
                free(CFaultsCounted(&failed))
            }
            do {
                try environment.save(["a": "\(number)"])
                last = "\(number)"
            } catch is LMDBError {
                // Nothing was changed; or a record could neither be written nor erased, and what became
                // of it the file tells.
                if let entries = try? environment.entries() {
                    #expect(entries["a"] ?? "none" == last)
                    continue
                }
                environment.close()
                let reopened = try fixture.open()
                defer { reopened.close() }
                let found = try reopened.entries()["a"] ?? "none"
                #expect(found == last || found == "\(number)")
                return
            }
        }
        for number in 0..<10 { try environment.save(["b": "\(number)"]) }
        #expect(try environment.entries() == ["a": last, "b": "9"])
        environment.close()
        #expect(try fixture.open().entries() == ["a": last, "b": "9"])
    }

    @Test func `only a commit that met no failing call met a short write`() {
        #expect(CheckedCommitter.meaning(of: EIO, reason: 0) == ENOSPC)
        #expect(CheckedCommitter.meaning(of: EIO, reason: EIO) == EIO)
        #expect(CheckedCommitter.meaning(of: EIO, reason: EINTR) == EIO)
        #expect(CheckedCommitter.meaning(of: ENOSPC, reason: ENOSPC) == ENOSPC)
        #expect(CheckedCommitter.meaning(of: 0, reason: 0) == 0)
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
