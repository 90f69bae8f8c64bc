import Foundation
import Glibc
import TestBudget
import Testing
import Threading
import Waiting

@testable import LMDB

@Suite(.budgeted) struct EnvironmentTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    @Test func `what was written is read, also after opening again`() throws {
        var environment: Environment? = try fixture.open()
        try environment?.save(["a": "1", "b": "2"])
        #expect(try environment?.entries() == ["a": "1", "b": "2"])
        environment = nil
        #expect(try fixture.open().entries() == ["a": "1", "b": "2"])
    }

    @Test func `programs that this process starts get none of its files`() throws {
        let environment = try fixture.openJournaled()
        for number in 0..<5 { try environment.save(["a": "\(number)"]) }
        var files: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name),
                let path = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/\(name)"), path.hasPrefix(fixture.store)
            else { continue }
            files.insert(String(path.dropFirst(fixture.store.count)))
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(path)")
        }
        #expect(files == ["/data.mdb", "/lock.mdb", "/journal"])
        environment.close()
    }

    @Test func `handles of one file share it, and it closes with the last one`() throws {
        let first = try fixture.open()
        let linked = fixture.root + "/linked"
        try FileManager.default.createSymbolicLink(
            atPath: linked, withDestinationPath: fixture.store)
        let second = try Environment.open(at: linked, options: Fixture.options())
        #expect(first.core === second.core)
        first.close()
        first.close()
        try second.save(["a": "1"])
        #expect(try second.entries() == ["a": "1"])
        #expect(code { _ = try first.entries() } == .closed)
        second.close()
        #expect(code { _ = try second.entries() } == .closed)
        let third = try fixture.open()
        #expect(third.core !== first.core)
    }

    @Test func `a second opening with other options is refused`() throws {
        let environment = try fixture.open()
        #expect(code { _ = try fixture.open { $0.durability = .relaxed } } == .differentOptions)
        #expect(code { _ = try fixture.open { $0.isReadOnly = true } } == .differentOptions)
        environment.close()
        _ = try fixture.open { $0.durability = .relaxed }
    }

    @Test func `closing waits for running reads`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        let inside = DispatchSemaphore(value: 0)
        let leave = DispatchSemaphore(value: 0)
        let seen = Box<[String: String]>([:])
        let order = Locked<[String]>([])
        let reader = Thread {
            try? environment.read { transaction in
                inside.signal()
                leave.wait()
                seen.value = try transaction.access.entries(in: Database(index: 0))
                order.withLock { $0.append("read") }
            }
        }
        reader.start()
        inside.wait()
        let closed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            environment.close()
            order.withLock { $0.append("closed") }
            closed.signal()
        }
        // It has begun to close: nothing new is let in.
        blockUntil { code { try environment.core.mapLock.inside {} } == .closed }
        // Others are let in; only a close that doesn't wait would come first.
        for _ in 0..<1_000 { sched_yield() }
        leave.signal()
        closed.wait()
        #expect(order.withLock { $0 } == ["read", "closed"])
        #expect(seen.value == ["a": "1"])
    }

    @Test func `an environment may be closed and released on its writer thread`() async throws {
        let environment = try fixture.open()
        try await environment.perform { environment.close() }
        await withCheckedContinuation { continuation in
            environment.writer.submit { continuation.resume() }
        }
        #expect(
            await outcome { try await environment.perform { try environment.write { _ in } } }
                == .closed)
        #expect(try fixture.open().entries() == [:])
    }

    @Test func `an aborted write leaves no trace`() throws {
        struct Stop: Error {}
        let environment = try fixture.open()
        let database = try environment.database("one")
        #expect(throws: Stop.self) {
            try environment.save { access in
                try access.put("a", "1", in: database)
                throw Stop()
            }
        }
        #expect(try environment.entries() == [:])
        try environment.save(["b": "2"])
        #expect(try environment.entries() == ["b": "2"])
    }

    @Test func `a write inside a write is refused`() throws {
        let environment = try fixture.open()
        let inner = try environment.save { _ in code { try environment.write { _ in } } }
        #expect(inner == .alreadyWriting)
        try environment.save(["a": "1"])
    }

    @Test func `a write on another thread is refused`() throws {
        let environment = try fixture.open()
        #expect(code { try environment.write { _ in } } == .other)
        try environment.save(["a": "1"])
    }

    @Test func `information describes the file`() throws {
        let environment = try fixture.open()
        for index in 0..<10 { try environment.save(["key\(index)": "value"]) }
        let info = try environment.info
        #expect(info.mapBytes == 1 << 30)
        #expect(info.readersMax == 1024)
        #expect(info.readersInUse == 1)
        #expect(info.lastTransaction >= 10)
        #expect(info.oldestReader == info.lastTransaction)
        #expect(info.freePages > 0)
        #expect(info.usedBytes > 0)
        let size = try FileManager.default.attributesOfItem(atPath: fixture.dataPath)[.size]
        #expect((size as? Int ?? 0) <= (info.lastPage + 1) * info.pageBytes)
    }

    @Test func `a temporary environment leaves nothing behind`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        #expect(!FileManager.default.fileExists(atPath: environment.directory))
        try environment.save(["a": "1"])
        #expect(try environment.entries() == ["a": "1"])
        let other = try Environment.temporary(options: Fixture.options())
        #expect(try other.entries() == [:])
    }

    @Test func `an unknown database is refused`() throws {
        let environment = try fixture.open()
        #expect(code { _ = try environment.database("three") } == .notFoundPath)
    }
}
