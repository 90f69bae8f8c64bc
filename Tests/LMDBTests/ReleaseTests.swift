import CFaults
import CrashStates
import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

/// Free pages that go back to the file system.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct ReleaseTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    /// Fills a store with some hundred pages and deletes most, so that few pages are in use.
    private func openHollow(
        _ change: (inout EnvironmentOptions) -> Void = { _ in }
    ) throws -> Environment {
        let environment = try fixture.open(change)
        try fill(environment, 0..<2_000)
        try hollow(environment)
        return environment
    }

    private func fill(_ environment: Environment, _ numbers: Range<Int>) throws {
        try environment.save { access in
            for number in numbers {
                try access.put(
                    "key \(number)", "\(number) " + String(repeating: "x", count: 900),
                    in: Database(index: 0))
            }
        }
    }

    /// Deletes all but some entries, then commits until what was freed may be used again.
    private func hollow(_ environment: Environment) throws {
        try environment.save { access in
            for number in 20..<2_000 {
                _ = try access.delete(Array("key \(number)".utf8), in: Database(index: 0))
            }
        }
        for round in 0..<2 { try environment.save(["round": "\(round)"]) }
    }

    @Test func `the file system gets the blocks of free pages, and the data stays`() throws {
        let environment = try openHollow()
        let (entries, fileBytes) = (try environment.entries(), try environment.fileBytes)
        let before = try environment.allocatedBytes
        let release = try environment.releaseAll()
        #expect(release.isSupported)
        #expect(release.next == nil)
        #expect(try environment.allocatedBytes == before - release.bytes)
        #expect(release.bytes > before / 4 * 3)
        #expect(try environment.fileBytes == fileBytes)
        #expect(try environment.entries() == entries)
        try environment.checkPages()

        #expect(try environment.releaseAll().bytes == 0)
        try fill(environment, 0..<2_000)
        #expect(try environment.entries().count == 2_001)
        #expect(try environment.fileBytes <= fileBytes + fileBytes / 4)
        try environment.checkPages()
        environment.close()
        #expect(try fixture.open().entries().count == 2_001)
    }

    @Test func `a step keeps to its budget, and the next one goes on`() throws {
        let environment = try openHollow()
        var budget = PageReleaseBudget()
        budget.runs = 2
        budget.pages = 40
        budget.pagesPerRunMin = 1
        var (steps, next, total) = (0, Int?.none, 0)
        repeat {
            let release = try environment.release(budget, below: next)
            #expect(release.bytes <= 40 * 4_096)
            total += release.bytes
            next = release.next
            steps += 1
        } while next != nil
        #expect(steps > 5)
        #expect(total > 1 << 20)
        #expect(try environment.release(.everything, below: nil).bytes <= 64 * 4_096)
    }

    @Test func `the reserve and short runs stay`() throws {
        let environment = try openHollow()
        var budget = PageReleaseBudget.everything
        budget.reserve = 1 << 20
        #expect(try environment.release(budget, below: nil).bytes == 0)
        budget.reserve = 0
        budget.pagesPerRunMin = 1 << 20
        #expect(try environment.release(budget, below: nil).bytes == 0)
        budget.pagesPerRunMin = 1
        #expect(try environment.release(budget, below: nil).bytes > 1 << 20)
    }

    @Test func `what a read of this process has stays until it ends`() throws {
        let environment = try fixture.open()
        try fill(environment, 0..<2_000)
        let done = DispatchSemaphore(value: 0)
        let bytes = Locked(Int.max)
        try environment.read { snapshot in
            let before = try snapshot.access.entries(in: Database(index: 0))
            Thread.detachNewThread {
                try? hollow(environment)
                let release = try? environment.releaseAll()
                bytes.withLock { $0 = release?.bytes ?? -1 }
                done.signal()
            }
            done.wait()
            #expect(try snapshot.access.entries(in: Database(index: 0)) == before)
        }
        #expect(bytes.withLock { $0 } < 64 << 10)
        #expect(try environment.releaseAll().bytes > 1 << 20)
        #expect(try environment.entries().count == 21)
    }

    @Test func `what a reader in another process has stays until it ends`() throws {
        let environment = try fixture.open()
        try fill(environment, 0..<2_000)
        var wake: Int32 = -1
        let child = CFaultsReadInChild(fixture.store, 1 << 30, &wake)
        try #require(child > 0)
        try hollow(environment)
        #expect(try environment.releaseAll().bytes < 64 << 10)
        #expect(CFaultsEndReading(child, wake) == 0)
        #expect(try environment.checkReaders() == 1)
        #expect(try environment.releaseAll().bytes > 1 << 20)
        #expect(try environment.entries().count == 21)
    }

    @Test func `readers of a newer snapshot go on, here and in other processes`() throws {
        let environment = try openHollow()
        var wake: Int32 = -1
        let child = CFaultsReadInChild(fixture.store, 1 << 30, &wake)
        try #require(child > 0)
        let entries = try environment.entries()
        #expect(try environment.releaseAll().bytes > 1 << 20)
        #expect(try environment.entries() == entries)
        #expect(CFaultsEndReading(child, wake) == 0)
    }

    @Test func `the last commit's pages stay for the one before`() throws {
        let environment = try fixture.open()
        try fill(environment, 0..<2_000)
        try environment.save { try $0.clear(Database(index: 0)) }
        // A crash now may leave the commit before as the last.
        #expect(try environment.releaseAll().bytes < 64 << 10)
        try environment.save(["a": "1"])
        #expect(try environment.releaseAll().bytes > 1 << 20)
    }

    @Test func `another process may write between two steps`() throws {
        let environment = try openHollow()
        var budget = PageReleaseBudget()
        budget.pages = 16
        budget.pagesPerRunMin = 1
        var next: Int?
        var count = 0
        repeat {
            next = try environment.release(budget, below: next).next
            #expect(CFaultsWriteInChild(fixture.store, 1 << 30, Int32(5 + count % 7), 3_000) == 0)
            count += 1
        } while next != nil && count < 60
        try environment.checkPages()
        #expect(try environment.entries().count >= 21 + 5)
    }

    @Test func `a file system that can't is told, and nothing else happens`() throws {
        let environment = try openHollow()
        try environment.failingPunch(EOPNOTSUPP) {
            let release = try environment.releaseAll()
            #expect(!release.isSupported)
            #expect(release.next == nil)
            #expect(release.bytes == 0)
        }
        #expect(try environment.entries().count == 21)
    }

    @Test(arguments: [EIO, ENOSPC])
    func `a failure of the file system is an error, and the store goes on`(reason: Int32) throws {
        let environment = try openHollow()
        try environment.failingPunch(reason) {
            let expected: LMDBError.Code = reason == ENOSPC ? .diskFull : .other
            #expect(code { _ = try environment.releaseAll() } == expected)
        }
        try environment.save(["after": "1"])
        #expect(try environment.entries()["after"] == "1")
        #expect(try environment.releaseAll().bytes > 1 << 20)
    }

    @Test func `a release belongs to the writer thread, outside of writes`() throws {
        let environment = try openHollow()
        #expect(code { _ = try environment.releaseFreePages() } == .other)
        let inside = try environment.save { _ in code { _ = try environment.releaseFreePages() } }
        #expect(inside == .alreadyWriting)
        environment.close()
        #expect(code { _ = try environment.releaseFreePages() } == .closed)
    }

    @Test func `the size on the disk is read only while the file is open`() throws {
        let (first, second) = (try openHollow(), try fixture.open())
        #expect(try first.allocatedBytes == second.allocatedBytes)
        first.close()
        #expect(code { _ = try first.allocatedBytes } == .closed)
        #expect(try second.allocatedBytes > 0)
        second.close()
        #expect(code { _ = try second.allocatedBytes } == .closed)
        // Another thread may close the file after the handle was found open.
        #expect(code { _ = try Environment.allocatedBytes(of: second.core) } == .closed)
    }

    @Test func `a store in memory gives memory back`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        try fill(environment, 0..<2_000)
        try hollow(environment)
        let before = try environment.allocatedBytes
        let release = try environment.releaseAll()
        #expect(try environment.allocatedBytes == before - release.bytes)
        #expect(release.bytes > 1 << 20)
        #expect(try environment.entries().count == 21)
    }
}

extension PageReleaseBudget {
    /// All that may be given back, in one step.
    static var everything: PageReleaseBudget {
        var budget = PageReleaseBudget()
        budget.runs = .max
        budget.pages = .max
        budget.pagesPerRunMin = 1
        budget.reserve = 0
        return budget
    }
}

extension Environment {
    func release(_ budget: PageReleaseBudget, below: Int?) throws -> PageRelease {
        try writer.submitAndWait { try releaseFreePages(below: below, budget: budget) }
    }

    func releaseAll() throws -> PageRelease { try release(.everything, below: nil) }

    /// Lets all attempts to make holes in the data file fail.
    fileprivate func failingPunch(_ reason: Int32, during body: () throws -> Void) throws {
        var status = stat()
        try #require(stat(core.folder.dataPath, &status) == 0)
        CFaultsArm(status.st_dev, status.st_ino, CFaultsPunch, 0, Int32.max, reason)
        defer { CFaultsDisarm() }
        try body()
    }
}
