import Backstitch
import BackstitchCore
import Foundation
import Threading
import TestBudget
import Testing
import LMDB

@testable import BackstitchStore

/// Space that goes back to the file system.
@Suite(.budgeted) struct SpaceTests {
    /// Departments with long names that a service took, renamed so that pages are split.
    private func fill(_ store: Store) async throws {
        for length in [100, 260] {
            try await store.write { transaction in
                for number in 0..<2_000 {
                    let name = "\(number) " + String(repeating: "n", count: length)
                    try transaction.save(Department(id: .init("d\(number)"), name: name))
                }
            }
            try await store.settle()
        }
        try await store.write { try $0.save(Department(id: "last", name: "last")) }
    }

    /// The entries of the tables.
    private func tables(_ store: Store) throws -> [[UInt8]] {
        try store.environment.read { transaction in
            var entries: [[UInt8]] = []
            for database in transaction.access.all(of: store.databases).dropFirst().dropLast() {
                try transaction.access.withCursor(in: database) { cursor in
                    while try cursor.next() { entries += [Array(cursor.key), Array(cursor.value)] }
                }
            }
            return entries
        }
    }

    @Test func `a compaction counts operations that wait in the journal`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: StoreConfiguration())
        for number in 0..<300 {
            try await store.save(Department(id: .init("d\(number)"), name: "Name \(number)"))
        }
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.operationsBefore == 300)
        #expect(report.operationsAfter == 300)
        #expect(report.removed == 0)
        // Each has its name and its record's.
        #expect(report.bytesBefore > 300 * 20)
        store.close()
    }

    @Test func `a compaction makes the file smaller on the disk, and keeps all records`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await fill(store)
        let (before, space) = (try tables(store), try store.info().space)
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.isComplete)
        #expect(report.returnsSpace)
        #expect(report.allocatedBytesBefore >= space.usedPages * space.pageBytes)
        #expect(report.returnedBytes > 1 << 20)
        let after = try store.info().space
        #expect(report.allocatedBytesAfter == after.allocatedBytes)
        #expect(after.allocatedBytes < report.allocatedBytesBefore * 4 / 5)
        #expect(after.fileBytes >= space.fileBytes)
        #expect(after.usedPages < space.usedPages)
        // Beside the pages in use: the reserve, short runs, and what the last commits freed.
        #expect(after.allocatedBytes < (after.usedPages + 400) * after.pageBytes)
        #expect(try tables(store) == before)
        try await store.expectConsistent()
        store.close()

        let again = try folder.open()
        #expect(try tables(again) == before)
        #expect(try await again.compact(.keepUnsyncedOnly).removed == 0)
        try await fill(again)
        try await again.expectConsistent()
        again.close()
    }

    @Test func `a reader of an older moment sees it while the file gets smaller`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        defer { store.close() }
        try await fill(store)
        let (reads, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reading = Locked<Bool?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let isSame = try? store.read { transaction in
                let before = try transaction.fetch(Department.self)
                reads.signal()
                ends.wait()
                return try transaction.fetch(Department.self) == before && before.count == 2_001
            }
            reading.withLock { $0 = isSame }
            done.signal()
        }
        await wait(for: reads)
        let space = try store.info().space
        let held = try await store.compact(.keepUnsyncedOnly)
        // Nothing is moved while free pages can't be used; packing needs new ones once.
        let grown = try store.info().space.fileBytes - space.fileBytes
        #expect(grown < 2 * space.usedPages * space.pageBytes)
        ends.signal()
        await wait(for: done)
        #expect(reading.withLock { $0 } == true)
        let report = try await store.compact(.keepUnsyncedOnly)
        #expect(report.returnedBytes > held.returnedBytes)
        #expect(report.allocatedBytesAfter < held.allocatedBytesAfter)
        try await store.expectConsistent()
    }

    private func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test func `a cancelled compaction says that it is not complete, and the next goes on`()
        async throws
    {
        let store = try Store.inMemory(schema: .all)
        try await fill(store)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.compact(.keepUnsyncedOnly)
        }
        let report = try await task.value
        #expect(!report.isComplete)
        #expect(report.returnedBytes == 0)
        #expect(try await store.compact(.keepUnsyncedOnly).returnedBytes > 1 << 20)
        try await store.expectConsistent()
    }

    @Test func `a closed store is refused`() async throws {
        let store = try Store.inMemory(schema: .all)
        store.close()
        await #expect(throws: StoreError.self) { try await store.compact(.keepAll) }
        await #expect(throws: StoreError.self) { _ = try await FileSpace(store).releaseSpace() }
    }

    /// Makes so many bytes of free pages, without a commit of the store.
    private func free(_ bytes: Int, in store: Store) throws {
        try store.environment.tamper { access, databases in
            let value = [UInt8](repeating: 1, count: bytes)
            try Array("x".utf8).withUnsafeBytes { key in
                try value.withUnsafeBytes { try access.put(key, $0, in: databases.meta) }
            }
        }
        try store.environment.tamper { access, databases in
            _ = try Array("x".utf8).withUnsafeBytes {
                try access.delete($0, in: databases.meta)
            }
        }
    }

    private func commit(_ count: Int, to store: Store) throws {
        for number in 0..<count {
            try store.write { try $0.save(Department(id: "d", name: "\(number)")) }
        }
        // What follows the last commit is done too.
        try store.environment.writer.submitAndWait {}
    }

    @Test func `commits give back what is free, in passing`() async throws {
        let store = try Store.inMemory(schema: .all)
        try free(8 << 20, in: store)
        let before = try store.info().space
        #expect(before.allocatedBytes > 8 << 20)
        try commit(ReleasePace.commitsPerLook, to: store)
        try commit(ReleasePace.commitsPerStep, to: store)
        let once = try store.info().space
        #expect(once.allocatedBytes > before.allocatedBytes - 5 << 20)
        #expect(once.allocatedBytes < before.allocatedBytes - 3 << 20)
        try commit(3 * ReleasePace.commitsPerStep, to: store)
        #expect(try store.info().space.allocatedBytes < 2 << 20)
        try await store.expectConsistent()
    }

    @Test func `commits leave a file alone of which little is free`() throws {
        let store = try Store.inMemory(schema: .all)
        try free(3 << 20, in: store)
        let before = try store.info().space.allocatedBytes
        try commit(ReleasePace.commitsPerLook + 4 * ReleasePace.commitsPerStep, to: store)
        #expect(try store.info().space.allocatedBytes >= before)
    }
}
