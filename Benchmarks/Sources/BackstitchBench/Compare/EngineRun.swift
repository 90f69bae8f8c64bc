import BenchmarkKit
import Foundation
import PeerInterface

/// One engine in one round: its store, and how far the workload has come on it.
final class EngineRun {
    struct Sample {
        let workload: String
        let value: Double
        let unit: String
    }

    let kind: EngineKind
    private let folder: String
    private let set: ContactSet
    private let foldSet: ContactSet
    private let questions: Questions
    private let options: CompareOptions
    private var engine: any Engine
    /// What opening the store took from the heap.
    private let heapOfOpening: UInt64
    /// What has to be in the store.
    private var expected = Census()
    private var filesAfterInsert = 0
    private var isUpdated = false

    private var data: Dataset { self.set.data }

    init(
        _ kind: EngineKind, in folder: String, _ set: ContactSet, folding foldSet: ContactSet,
        _ questions: Questions, _ options: CompareOptions
    ) throws {
        self.kind = kind
        self.folder = folder
        self.set = set
        self.foldSet = foldSet
        self.questions = questions
        self.options = options
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let heapBefore = peer_heap_bytes()
        engine = try kind.open(folder, set)
        heapOfOpening = Self.growth(of: peer_heap_bytes(), since: heapBefore)
    }

    /// Closes the store and deletes it.
    func end() throws {
        engine.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Does what later parts need of one that is not measured.
    func skip(_ workload: Workload) throws {
        switch workload {
        case .insert: _ = try insert()
        case .save, .saveFrom8, .saveFrom64:
            let numbers = self.numbers(workload)
            try engine.insert(numbers)
            note(inserted: numbers)
        default: return
        }
        try engine.settle()
    }

    /// Does one part of the workload.
    func perform(_ workload: Workload) async throws -> [Sample] {
        let samples: [Sample]
        switch workload {
        case .insert: samples = try insert()
        case .save: samples = try await save(workload, writers: 1)
        case .saveFrom8: samples = try await save(workload, writers: 8)
        case .saveFrom64: samples = try await save(workload, writers: 64)
        case .get, .getInOwnSnapshot: samples = try get(workload)
        case .equality, .equalityTyped, .range, .scan, .scanOnTwo, .sort, .sortOnTwo, .toMany:
            samples = try ask(workload)
        case .update: samples = try update()
        case .delete: samples = try delete()
        case .size:
            samples = [Sample(workload: "g", value: Double(filesAfterInsert), unit: "bytes")]
        case .compactedSize: samples = try await compact()
        case .fold: samples = try fold()
        }
        try engine.settle()
        return samples
    }

    private func sample(_ workload: Workload, _ nanoseconds: Int64, each count: Int) -> [Sample] {
        [
            Sample(
                workload: workload.rawValue, value: Double(nanoseconds) / Double(max(count, 1)),
                unit: "ns")
        ]
    }

    private func measure(_ body: () throws -> Void) rethrows -> Int64 {
        let start = peer_nanoseconds()
        try body()
        return peer_nanoseconds() - start
    }

    /// Splits work into transactions.
    private func parts(_ count: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: CompareOptions.transactionSize).map {
            $0..<min($0 + CompareOptions.transactionSize, count)
        }
    }

    // MARK: Writing

    private func insert() throws -> [Sample] {
        var nanoseconds: Int64 = 0
        let heapBefore = peer_heap_bytes()
        var heap: UInt64 = 0
        for (index, part) in parts(data.records).enumerated() {
            nanoseconds += try measure { try engine.insert(part) }
            if index % 10 == 9 { heap = max(heap, peer_heap_bytes()) }
        }
        heap = max(heap, peer_heap_bytes())
        note(inserted: 0..<data.records)
        try engine.settle()
        filesAfterInsert = Folder(folder).bytes
        let heapGrowth = heapOfOpening + Self.growth(of: heap, since: heapBefore)
        return sample(.insert, nanoseconds, each: data.records) + [
            Sample(workload: "g-heap", value: Double(heapGrowth), unit: "bytes")
        ]
    }

    private static func growth(of now: UInt64, since before: UInt64) -> UInt64 {
        now > before ? now - before : 0
    }

    private func note(inserted numbers: Range<Int>) {
        expected.rows += numbers.count
        expected.changes += numbers.count
        for number in numbers { expected.digest &+= data.digests[number] }
    }

    /// The contacts that are saved one by one in a part of the workload.
    private func numbers(_ workload: Workload) -> Range<Int> {
        let kinds: [Workload] = [.save, .saveFrom8, .saveFrom64]
        let first = data.records + (kinds.firstIndex(of: workload) ?? 0) * data.saves
        return first..<(first + data.saves)
    }

    private func save(_ workload: Workload, writers: Int) async throws -> [Sample] {
        let numbers = self.numbers(workload)
        let nanoseconds =
            writers == 1
            ? try measure { try engine.saveEach(numbers) }
            : try await engine.saveConcurrently(numbers, writers: writers)
        note(inserted: numbers)
        return sample(workload, nanoseconds, each: numbers.count)
    }

    private func update() throws -> [Sample] {
        let nanoseconds = try measure {
            for part in parts(data.records) { try engine.update(part) }
        }
        isUpdated = true
        expected.changes += data.records
        for number in data.updateOrder {
            expected.digest &-= data.digests[number]
            expected.digest &+= data.updatedDigests[number]
        }
        try check()
        return sample(.update, nanoseconds, each: data.records)
    }

    private func delete() throws -> [Sample] {
        let nanoseconds = try measure {
            for part in parts(options.deletes) { try engine.delete(part) }
        }
        expected.changes += options.deletes
        expected.rows -= options.deletes
        for number in data.updateOrder.prefix(options.deletes) {
            expected.digest &-= isUpdated ? data.updatedDigests[number] : data.digests[number]
        }
        try check()
        return sample(.delete, nanoseconds, each: options.deletes)
    }

    /// Compares what is stored, change records included, with what was done.
    private func check() throws {
        let found = try engine.census()
        guard found == expected else {
            throw EngineFailure(
                description: "\(kind.rawValue) holds \(found.rows) rows, \(found.changes) change "
                    + "records and the digest \(found.digest); that should be \(expected.rows), "
                    + "\(expected.changes) and \(expected.digest).")
        }
    }

    // MARK: Reading

    private func get(_ workload: Workload) throws -> [Sample] {
        var sum: UInt64 = 0
        let nanoseconds = try measure {
            sum = try engine.get(questions.gets, inOneSnapshot: workload == .get)
        }
        try compare(sum, questions.getSum, workload)
        return sample(workload, nanoseconds, each: questions.gets.count)
    }

    private func ask(_ workload: Workload) throws -> [Sample] {
        guard let kind = workload.question else { return [] }
        var sum: UInt64 = 0
        let nanoseconds = try measure { sum = try engine.ask(kind, questions) }
        try compare(sum, questions.sum(kind), workload)
        return sample(workload, nanoseconds, each: questions.count(kind))
    }

    private func compare(_ sum: UInt64, _ expected: UInt64, _ workload: Workload) throws {
        guard sum == expected else {
            throw EngineFailure(
                description: "\(kind.rawValue) gave a wrong answer in \(workload.rawValue): the "
                    + "sum is \(sum), not \(expected).")
        }
    }

    // MARK: Compaction

    /// Fills a store of its own with inserts, and compacts it.
    private func compact() async throws -> [Sample] {
        let path = folder + "-compact"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try kind.open(path, set)
        defer { store.close() }
        for part in parts(data.records) { try store.insert(part) }
        try store.settle()
        guard try await store.compact() else { return [] }
        return [
            Sample(
                workload: Workload.compactedSize.rawValue,
                value: Double(Folder(path).allocatedBytes), unit: "bytes")
        ]
    }

    // MARK: Fold

    /// Fills a store of its own with inserts, then an update of each, and folds them.
    private func fold() throws -> [Sample] {
        let path = folder + "-fold"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try kind.open(path, foldSet)
        defer { store.close() }
        for part in parts(foldSet.data.records) { try store.insert(part) }
        for part in parts(foldSet.data.records) { try store.update(part) }
        try store.settle()
        var json = peer_buffer()
        defer { free(json.bytes) }
        // What is measured is the fold, and not how the system comes by memory.
        let bytesMax = foldSet.data.records * Self.modificationBytesMax
        guard peer_buffer_reserve(&json, bytesMax) == 0 else {
            throw EngineFailure(description: "out of memory")
        }
        memset(json.bytes, 1, json.capacity)
        let start = peer_nanoseconds()
        let count = try store.fold(into: &json)
        let time = peer_nanoseconds() - start
        do {
            try FoldCheck(foldSet.data).check(
                count, UnsafeRawBufferPointer(start: json.bytes, count: json.count))
        } catch let failure as EngineFailure {
            throw EngineFailure(description: "\(kind.rawValue): \(failure)")
        }
        return [
            Sample(workload: "h", value: Double(time), unit: "ns"),
            Sample(workload: "h-json", value: Double(json.count), unit: "bytes"),
        ]
    }

    /// More than the JSON of any contact.
    private static let modificationBytesMax = 1_000
}
