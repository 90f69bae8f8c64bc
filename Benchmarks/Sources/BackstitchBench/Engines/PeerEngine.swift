import BenchmarkKit
import Foundation
import PeerInterface

/// An engine written in C.
final class PeerEngine: Engine {
    private let operations: peer_operations
    private let engine: OpaquePointer
    private let data: Dataset
    private var rows = peer_rows()

    init(
        _ operations: UnsafePointer<peer_operations>?, _ directory: String, _ data: Dataset
    ) throws {
        guard let operations, let engine = operations.pointee.open(directory) else {
            throw Self.failure()
        }
        self.operations = operations.pointee
        self.engine = engine
        self.data = data
        // A query that finds a multiple of what it should is stopped there.
        guard peer_rows_make(&rows, 100 * Questions.rowsWanted) == 0 else { throw Self.failure() }
    }

    deinit { peer_rows_free(&rows) }

    private static func failure() -> EngineFailure {
        EngineFailure(description: String(cString: peer_error_message()))
    }

    private func check(_ status: Int32) throws {
        guard status == 0 else { throw Self.failure() }
    }

    // MARK: Writing

    func insert(_ numbers: Range<Int>) throws {
        guard let first = data.contacts.baseAddress else { return }
        try check(operations.insert(engine, first + numbers.lowerBound, numbers.count))
    }

    func saveEach(_ numbers: Range<Int>) throws {
        guard let first = data.contacts.baseAddress else { return }
        for number in numbers { try check(operations.save(engine, first + number)) }
    }

    func saveConcurrently(_ numbers: Range<Int>, writers: Int) async throws -> Int64 {
        guard let first = data.contacts.baseAddress else { return 0 }
        let nanoseconds = withUnsafePointer(to: operations) {
            peer_save_concurrently(
                $0, engine, first + numbers.lowerBound, numbers.count, writers)
        }
        guard nanoseconds >= 0 else { throw Self.failure() }
        return nanoseconds
    }

    func update(_ positions: Range<Int>) throws {
        guard let first = data.updates.baseAddress else { return }
        try check(operations.update(engine, first + positions.lowerBound, positions.count))
    }

    func delete(_ positions: Range<Int>) throws {
        let ids = positions.map { data.updates[$0].id }
        try ids.withUnsafeBufferPointer { ids in
            try check(operations.remove(engine, ids.baseAddress, ids.count))
        }
    }

    // MARK: Reading

    func get(_ numbers: [Int], inOneSnapshot: Bool) throws -> UInt64 {
        var sum: UInt64 = 0
        var row = peer_row()
        if inOneSnapshot { try check(operations.begin_read(engine)) }
        for number in numbers {
            if !inOneSnapshot { try check(operations.begin_read(engine)) }
            let status = withUnsafeBytes(of: &data.contacts[number].id) { id in
                operations.get(engine, id.bindMemory(to: UInt8.self).baseAddress, &row)
            }
            try check(status)
            sum = peer_touch(sum, &row, 1)
            if !inOneSnapshot { operations.end_read(engine) }
        }
        if inOneSnapshot { operations.end_read(engine) }
        return sum
    }

    func ask(_ kind: Questions.Kind, _ questions: Questions) throws -> UInt64 {
        try check(operations.begin_read(engine))
        defer { operations.end_read(engine) }
        var sum: UInt64 = 0
        for index in 0..<questions.count(kind) {
            rows.count = 0
            try check(ask(kind, index, questions))
            guard Questions.isOrdered(kind) else {
                sum = peer_touch(sum, rows.rows, rows.count)
                continue
            }
            var ordered: UInt64 = 0
            for position in 0..<rows.count {
                ordered = Questions.inOrder(ordered, peer_touch(0, rows.rows + position, 1))
            }
            sum &+= ordered
        }
        return sum
    }

    private func ask(_ kind: Questions.Kind, _ index: Int, _ questions: Questions) -> Int32 {
        switch kind {
        case .equality, .equalityTyped:
            return operations.find_email(
                engine, data.contacts[questions.emails[index]].email, &rows)
        case .range:
            let low = questions.ages[index]
            return operations.find_ages(engine, low, low + Int64(Questions.rowsWanted), &rows)
        case .scan, .scanOnTwo:
            return operations.scan_balance(engine, questions.balances[index], &rows)
        case .sort, .sortOnTwo:
            return operations.sort_by_last_name(engine, Questions.sortLimit, &rows)
        case .toMany:
            return withUnsafeBytes(of: questions.departments[index]) { id in
                operations.find_department(
                    engine, id.bindMemory(to: UInt8.self).baseAddress, &rows)
            }
        }
    }

    // MARK: Everything

    func fold(into json: inout peer_buffer) throws -> Int {
        var count = 0
        try check(operations.fold(engine, &json, &count))
        return count
    }

    func census() throws -> Census {
        var rows: UInt64 = 0
        var changes: UInt64 = 0
        var digest: UInt64 = 0
        try check(operations.census(engine, &rows, &changes, &digest))
        return Census(rows: Int(rows), changes: Int(changes), digest: digest)
    }

    func settle() throws { try check(operations.settle(engine)) }

    func close() { operations.close(engine) }
}
