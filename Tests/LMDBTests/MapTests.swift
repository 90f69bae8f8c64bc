import CFaults
import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

@Suite(.budgeted) struct MapTests {
    let fixture: Fixture
    private let small = 256 << 10

    init() throws {
        fixture = try Fixture()
    }

    @Test func `the map grows while threads read, and nobody notices`() throws {
        let environment = try fixture.open {
            $0.mapBytes = small
            $0.durability = .relaxed
        }
        let database = try environment.database("one")
        let value = [UInt8](repeating: 7, count: 1000)
        try environment.save { try $0.put([0], value, in: database) }
        let isDone = Box(false)
        let finished = DispatchGroup()
        let lock = NSLock()
        let failures = Box(0)
        for _ in 0..<4 {
            finished.enter()
            Thread.detachNewThread {
                while !lock.withLock({ isDone.value }) {
                    do {
                        try environment.read { transaction in
                            let count = try transaction.access.count(of: database)
                            var seen = 0
                            try transaction.access.withCursor(in: database) { cursor in
                                while try cursor.next() {
                                    if !cursor.value.elementsEqual(value) {
                                        throw CancellationError()
                                    }
                                    seen += 1
                                }
                            }
                            // A read inside a read passes while a growth waits.
                            try environment.read { _ in }
                            if seen != count { throw CancellationError() }
                        }
                    } catch {
                        lock.withLock { failures.value += 1 }
                    }
                }
                finished.leave()
            }
        }
        for index in 1..<120 {
            try environment.save { access in
                for part in 0..<40 {
                    try access.put([UInt8(index), UInt8(part)], value, in: database)
                }
            }
        }
        lock.withLock { isDone.value = true }
        finished.wait()
        #expect(lock.withLock { failures.value } == 0)
        #expect(try environment.info.mapBytes > 4 << 20)
        #expect(try environment.read { try $0.access.count(of: database) } == 1 + 119 * 40)
    }

    @Test func `the closure runs again after the map has grown`() throws {
        let environment = try fixture.open { $0.mapBytes = small }
        let database = try environment.database("one")
        let runs = Box(0)
        try environment.save { access in
            runs.value += 1
            for index in 0..<100 {
                try access.put([UInt8(index)], [UInt8](repeating: 1, count: 10_000), in: database)
            }
        }
        #expect(runs.value == 4)
        #expect(try environment.info.mapBytes == 2 << 20)
    }

    @Test func `a full map is noticed even if the closure swallows the error`() throws {
        let environment = try fixture.open { $0.mapBytes = small }
        let database = try environment.database("one")
        try environment.save { access in
            for index in 0..<100 {
                try? access.put([UInt8(index)], [UInt8](repeating: 1, count: 10_000), in: database)
            }
        }
        #expect(try environment.read { try $0.access.count(of: database) } == 100)
    }

    @Test func `the map grows to its largest size and then writes fail cleanly`() throws {
        let environment = try fixture.open {
            $0.mapBytes = small
            $0.mapBytesMax = 2 * small
        }
        let database = try environment.database("one")
        try environment.save(["a": "1"])
        let error = #expect(throws: LMDBError.self) {
            try environment.save { access in
                try access.put([1], [UInt8](repeating: 1, count: 3 * small), in: database)
            }
        }
        #expect(error?.code == .mapFull)
        #expect(error?.message.contains("mapBytesMax") == true)
        try environment.save(["b": "2"])
        #expect(try environment.entries() == ["a": "1", "b": "2"])
    }

    @Test func `growing inside a read of the writer thread is refused`() throws {
        let environment = try fixture.open { $0.mapBytes = small }
        let database = try environment.database("one")
        let big = [UInt8](repeating: 1, count: 2 * small)
        let outcome = try environment.writer.submitAndWait {
            try environment.read { _ in
                code { try environment.write { try $0.access.put([1], big, in: database) } }
            }
        }
        #expect(outcome == .busy)
        try environment.save { try $0.put([1], big, in: database) }
    }

    @Test func `readers and the writer adopt the size that another process has set`() throws {
        let environment = try fixture.open { $0.mapBytes = small }
        let database = try environment.database("one")
        try environment.save(["a": "1"])
        #expect(CFaultsWriteInChild(fixture.store, 8 << 20, 100, 10_000) == 0)
        #expect(try environment.read { try $0.access.count(of: database) } == 101)
        #expect(try environment.info.mapBytes == 8 << 20)

        #expect(CFaultsWriteInChild(fixture.store, 32 << 20, 100, 100_000) == 0)
        try environment.save(["b": "2"])
        #expect(try environment.read { try $0.access.count(of: database) } == 102)
        #expect(try environment.info.mapBytes == 32 << 20)
    }

    @Test func `a read inside a read says that it can't adopt a new size`() throws {
        let environment = try fixture.open { $0.mapBytes = small }
        try environment.read { _ in
            #expect(CFaultsWriteInChild(fixture.store, 8 << 20, 100, 10_000) == 0)
            #expect(code { try environment.read { _ in } } == .busy)
        }
        try environment.read { _ in }
    }
}
