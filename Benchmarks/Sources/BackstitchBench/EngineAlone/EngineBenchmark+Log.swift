import Backstitch
import BenchmarkKit
import Foundation
import PeerInterface

/// A contact of the next version of a program, which has one index more.
@Entity("Contact") private struct SortedContact {
    var id = ID()
    var firstName: String
    @Attribute(.indexed) var lastName: String
    @Attribute(.indexed) var email: String
    @Attribute(.indexed) var age: Int64
    var balance: Double
    var active: Bool
    var createdAt: Date
    var notes: String
}

extension EngineBenchmark {
    /// Rebuild and verification of a log of which half are inserts and half are updates.
    mutating func rebuild() async throws {
        let operations = options.operations
        let figures = try await withStore(.relaxed) { store in
            let numbers = 0..<(operations / 2)
            for part in Self.parts(numbers) { try save(part, in: store) }
            for part in Self.parts(numbers) { try raise(part, in: store) }
            let rebuild = try await Work("rebuild", operations) { progress in
                _ = try await store.rebuild { _, _ in progress() }
            }
            let verify = try await self.verify(store, "verify")
            let alone = try open(.relaxed, readThreads: 1)
            defer { alone.close() }
            return [rebuild, verify, try await self.verify(alone, "verify-1")]
        }
        for work in figures {
            note(work.name, work.operationsPerSecond, "operations/s")
            note("\(work.name)-heap", work.heapBytes, "bytes")
            note("\(work.name)-resident", work.residentBytes, "bytes")
        }
    }

    /// Building an index of records that are there, and the longest save meanwhile.
    mutating func index() async throws {
        let store = try open(.full)
        let records = options.operations / 2
        for part in Self.parts(0..<records) { try save(part, in: store) }
        let place = store.directory
        store.close()
        defer { try? FileManager.default.removeItem(at: place) }
        let sorted = try Store(at: place, schema: StoreSchema(SortedContact.self))
        defer { sorted.close() }
        let work = try await Work("index", records) { progress in
            try await sorted.prepareIndexes { _, _ in progress() }
        }
        let found = try sorted.read {
            try $0.count(Query<SortedContact>().where(\.lastName, atLeast: ""))
        }
        guard try sorted.indexesBeingBuilt.isEmpty, found == records else {
            throw EngineFailure(description: "the index has \(found) of \(records) records")
        }
        note(work.name, work.operationsPerSecond, "records/s")
        note("\(work.name)-heap", work.heapBytes, "bytes")
    }

    private func verify(_ store: Store, _ name: String) async throws -> Work {
        try await Work(name, options.operations) { progress in
            let report = try store.verify { _, _ in progress() }
            guard report.isConsistent else {
                throw EngineFailure(
                    description: report.problems.first ?? "the store is not consistent")
            }
        }
    }

    /// Opening, and memory in use, by the number of operations in the log, all of them unsynced.
    mutating func open() throws {
        var filled = 0
        for count in [1_000, 10_000, 100_000, 1_000_000] where count <= options.operations {
            let store = try open(.relaxed)
            for part in Self.parts(filled..<count) { try save(part, in: store) }
            filled = count
            store.close()
            Progress.show("engine, open, \(count) operations")
            try open(operations: count)
        }
        Folder(folder + "/store").remove()
    }

    private mutating func open(operations: Int) throws {
        var times: [Double] = []
        for _ in 0..<5 {
            let start = peer_nanoseconds()
            let store = try open(.full)
            times.append(Double(peer_nanoseconds() - start))
            store.close()
        }
        note("open-\(operations)", Summary(times)?.median ?? 0)
        let before = Memory()
        let store = try open(.full)
        defer { store.close() }
        _ = try store.read { try $0.count(Contact.self) }
        for number in stride(from: 0, to: operations, by: max(1, operations / 1_000)) {
            _ = try store.read { try $0.find(Contact.self, contact(number).id) }
        }
        let after = Memory()
        note("heap-\(operations)", Double(after.heapBytes - before.heapBytes), "bytes")
        note(
            "anonymous-\(operations)", Double(after.anonymousBytes - before.anonymousBytes), "bytes"
        )
        note("resident-\(operations)", Double(after.residentBytes - before.residentBytes), "bytes")
    }
}
