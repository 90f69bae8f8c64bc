import CFaults
import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

@Suite(.budgeted) struct ReaderTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    /// Runs a closure inside so many reads, each within the one before.
    private func nest(
        _ depth: Int, in environment: Environment, _ body: () throws -> Void
    ) throws {
        if depth == 0 { return try body() }
        try environment.read { _ in try nest(depth - 1, in: environment, body) }
    }

    @Test func `a thread may hold more reads than LMDB has slots by default`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        try nest(500, in: environment) {
            let entries = try environment.entries()
            let readersInUse = try environment.info.readersInUse
            #expect(entries == ["a": "1"])
            #expect(readersInUse == 501)
        }
        // Idle transactions over the limit of the pool have given their slots back.
        #expect(try environment.info.readersInUse == MapLock.idleMax)
    }

    @Test func `a pool of readers that contradicts itself is seen`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        try nest(3, in: environment) {}
        let mapLock = environment.core.mapLock
        #expect(mapLock.violation == nil)
        mapLock.idleCount += 1
        #expect(mapLock.violation?.contains("idle") == true)
        mapLock.idleCount -= 2
        #expect(mapLock.violation?.contains("more idle") == true)
        mapLock.idleCount += 1
        let slot = try #require(mapLock.firstIdle)
        slot.pointee.thread = 1
        #expect(mapLock.violation?.contains("uses") == true)
        slot.pointee.thread = 0
        mapLock.firstIdle = slot.pointee.nextIdle
        mapLock.idleCount -= 1
        #expect(mapLock.violation?.contains("reads") == true)
        mapLock.firstIdle = slot
        mapLock.idleCount += 1
        #expect(mapLock.violation == nil)
    }

    @Test func `a full table of readers is an error that says what to do`() throws {
        let environment = try fixture.open { $0.readersMax = 5 }
        let error = #expect(throws: LMDBError.self) {
            try nest(6, in: environment) {}
        }
        #expect(error?.code == .readersFull)
        #expect(error?.message.contains("All 5 reader slots") == true)
        try nest(5, in: environment) {}
    }

    @Test func `a read that could take more threads takes one if no slot is left`() throws {
        let environment = try fixture.open { $0.readersMax = 5 }
        try nest(4, in: environment) {
            try environment.read { transaction in
                let ran = try ParallelReads(transaction.access).run(count: 2, threadsMax: 2) {
                    _, _ in
                }
                #expect(!ran)
            }
        }
    }

    @Test func `slots of dead readers are used again`() throws {
        var environment = try fixture.open { $0.readersMax = 3 }
        try environment.save(["a": "1"])
        for _ in 0..<3 {
            let child = CFaultsHangInChild(fixture.store, 1 << 30, false)
            #expect(child > 0)
            CFaultsKill(child)
        }
        try nest(3, in: environment) {}
        environment.close()

        environment = try fixture.open { $0.readersMax = 3 }
        let child = CFaultsHangInChild(fixture.store, 1 << 30, false)
        #expect(child > 0)
        #expect(try environment.checkReaders() == 0)
        CFaultsKill(child)
        #expect(try environment.checkReaders() == 1)
    }

    @Test func `commits look for dead readers now and then`() throws {
        let environment = try fixture.open { $0.durability = .relaxed }
        let child = CFaultsHangInChild(fixture.store, 1 << 30, false)
        #expect(child > 0)
        CFaultsKill(child)
        #expect(try environment.info.readersInUse == 2)
        for index in 0..<EnvironmentCore.commitsPerReaderCheck {
            try environment.save(["a": "\(index)"])
        }
        #expect(try environment.info.readersInUse == 1)
    }

    @Test func `a read sees one snapshot while others write`() throws {
        let environment = try fixture.open()
        let database = try environment.database("one")
        try environment.save(["a": "1"])
        let saved = DispatchSemaphore(value: 0)
        try environment.read { transaction in
            environment.writer.submit {
                _ = try? environment.write { transaction in
                    try transaction.access.put("a", "2", in: database)
                }
                saved.signal()
            }
            saved.wait()
            #expect(try transaction.access.get("a", in: database) == "1")
            #expect(try environment.entries() == ["a": "2"])
            let info = try environment.info
            #expect(info.oldestReader == transaction.id)
            #expect(info.lastTransaction == transaction.id + 1)
        }
    }

    @Test func `waiting for a write inside a read is refused`() throws {
        let environment = try fixture.open()
        try environment.read { _ in
            #expect(code { try environment.writer.submitAndWait {} } == .busy)
        }
    }
}
