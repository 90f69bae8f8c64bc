import Backstitch
import BackstitchLog
import BackstitchTesting
import Foundation
import Terminal

/// Does what the story asks of a device, with a store on disk and a connection to the service.
final class DemoWorker<Record: DemoRecord> {
    /// How many records one transaction saves.
    static var recordsPerTransaction: Int { 1_000 }

    private let path: String
    private let author: String
    private let schema: StoreSchema
    private let service: DemoConnection
    private let data: () throws -> DemoData<Record>
    /// Ends the device between the service's doing and its reply.
    private let die: @Sendable (Store) throws(ServiceError) -> Void
    private var store: Store
    private let clock = ContinuousClock()

    /// - Parameters:
    ///   - data: What ``DemoOrder/save`` saves.
    ///   - die: Ends the device; if it returns or throws, nothing that the device goes on to do
    ///     may count.
    init(
        _ author: String, at path: String, schema: StoreSchema, service: any RecordService,
        data: @escaping () throws -> DemoData<Record>,
        die: @escaping @Sendable (Store) throws(ServiceError) -> Void
    ) throws {
        (self.author, self.path, self.schema) = (author, path, schema)
        (self.data, self.die) = (data, die)
        self.service = DemoConnection(service)
        store = try Self.open(path, schema, author)
    }

    private static func open(_ path: String, _ schema: StoreSchema, _ author: String) throws
        -> Store
    {
        try Store(
            at: path, schema: schema,
            configuration: StoreConfiguration(durability: .full, author: author))
    }

    /// Lets go of the store and opens it again from its files.
    func reopen() throws {
        store.close()
        store = try Self.open(path, schema, author)
    }

    func close() { store.close() }

    /// Does what is asked.
    func perform(
        _ order: DemoOrder, progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> DemoAnswer {
        var answer = DemoAnswer()
        switch order {
        case .save:
            let data = try data()
            let start = clock.now
            try await save(data, progress)
            answer.seconds = (clock.now - start) / .seconds(1)
        case .edit(let edit, let records): try await self.edit(records, edit)
        case .delete(let records): try await delete(records)
        case .replace(let records): try await replace(records)
        case .synchronise(let policy): try await synchronise(policy, &answer, progress)
        case .die(let requests): try await die(after: requests)
        case .count: break
        }
        answer.waiting = DemoAnswer.Waiting(try store.read { try StoreInfo.Outbox($0.reader) })
        return answer
    }

    // MARK: Writing

    private func save(
        _ data: DemoData<Record>, _ progress: @Sendable (Int, Int) -> Void
    ) async throws {
        for part in Self.parts(of: data.others.count) {
            let others = data.others[part]
            try await store.write { transaction in
                for record in others { try Self.save(record, transaction) }
            }
        }
        for part in Self.parts(of: data.records.count) {
            let records = data.records[part]
            try await store.write { transaction in
                for record in records { try transaction.save(record) }
            }
            progress(data.others.count + part.upperBound, data.count)
        }
    }

    private static func save(
        _ record: some Entity, _ transaction: borrowing WriteTransaction
    ) throws {
        try transaction.save(record)
    }

    private func edit(_ names: [String], _ edit: DemoEdit) async throws {
        let now = Date(timeIntervalSince1970: Double(LiveValues.milliseconds()) / 1_000)
        for part in Self.parts(of: names.count) {
            let ids = names[part].map { Record.ID($0) }
            try await store.write { transaction in
                for id in ids {
                    guard var record = try transaction.find(Record.self, id) else { continue }
                    edit.change(&record, at: now)
                    try transaction.save(record)
                }
            }
        }
    }

    private func delete(_ names: [String]) async throws {
        let ids = names.map { Record.ID($0) }
        try await store.write { transaction in
            for id in ids { try transaction.delete(id) }
        }
    }

    private func replace(_ names: [String]) async throws {
        let ids = names.map { Record.ID($0) }
        try await store.write { transaction in
            for id in ids {
                guard var record = try transaction.find(Record.self, id) else { continue }
                try transaction.delete(id)
                record.text = "Made again on A"
                try transaction.save(record)
            }
        }
    }

    /// The transactions that a number of records is saved in.
    private static func parts(of count: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: recordsPerTransaction).map {
            $0..<min($0 + recordsPerTransaction, count)
        }
    }

    // MARK: Synchronising

    /// An engine of its own for one round, which starts none by itself.
    private func engine(_ policy: ConflictPolicy) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: DemoZone.name, conflictPolicy: policy, syncOnSave: false))
    }

    private func synchronise(
        _ policy: String, _ answer: inout DemoAnswer,
        _ progress: @escaping @Sendable (Int, Int) -> Void
    ) async throws {
        guard let policy = ConflictPolicy(policy) else {
            throw DemoFailure("There is no policy '\(policy.printable)'.")
        }
        let engine = engine(policy)
        async let watching: Void = Self.follow(engine.events, progress)
        let start = clock.now
        let report = try await engine.sync()
        answer.seconds = (clock.now - start) / .seconds(1)
        await engine.stop()
        await watching
        answer.pushedRecords = report.pushedRecords
        answer.pulledRecords = report.pulledRecords
        answer.conflicts = report.conflicts
        answer.operations = report.changes.sequences.count
        let limits = await service.limits
        answer.operationsPerRequest = limits.operationsPerRequest
        answer.recordsPerPage = limits.recordsPerPage
    }

    private static func follow(
        _ events: SyncEngineEvent.Stream, _ progress: @Sendable (Int, Int) -> Void
    ) async {
        for await event in events {
            switch event {
            case .progress(let pulled, let pushed, _): progress(pulled + pushed, 0)
            case .finished, .failed: return
            default: break
            }
        }
    }

    private func die(after requests: Int) async throws {
        let (store, die) = (store, die)
        service.beforeReply(after: requests) { () throws(ServiceError) in try die(store) }
        defer { service.forgetReplies() }
        let engine = engine(.serverWins)
        do {
            _ = try await engine.sync()
        } catch is SyncError {
            // It died.
            return
        }
        await engine.stop()
        throw DemoFailure("The device was to die in the middle of a push and did not.")
    }
}
