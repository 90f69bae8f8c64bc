import Backstitch
import BackstitchTesting
import BenchmarkKit

extension EngineBenchmark {
    /// The first fetch into an empty store, and the push of what two edits of each record left.
    mutating func sync() async throws {
        let templates = try await templates()
        let count = options.operations
        let pull = try await withStore { store in
            let service = GeneratedService(templates: templates, count: count)
            let work = try await self.exchange("pull", count, store, service)
            guard try store.read({ try $0.count(Contact.self) }) == count else {
                throw EngineFailure(description: "not every record came")
            }
            return work
        }
        note(pull)
        // Two operations of a record fold into one modification where one pass has both.
        let operations = min(count, 100_000)
        let (push, modifications) = try await withStore { store in
            let numbers = 0..<(operations / 2)
            for part in Self.parts(numbers) { try self.save(part, in: store) }
            for part in Self.parts(numbers) { try self.raise(part, in: store) }
            let service = GeneratedService(templates: templates, count: 0)
            let work = try await self.exchange("push", operations, store, service)
            guard service.taken >= numbers.count, try isPushed(store) else {
                throw EngineFailure(description: "not every record was pushed")
            }
            return (work, service.taken)
        }
        note(push)
        note("push-modifications", Double(modifications), "modifications")
    }

    private func isPushed(_ store: Store) throws -> Bool {
        try store.info().outbox.pendingOperations == 0
    }

    private mutating func note(_ work: Work) {
        note(work.name, work.operationsPerSecond, "operations/s")
        note("\(work.name)-heap", work.heapBytes, "bytes")
        note("\(work.name)-resident", work.residentBytes, "bytes")
    }

    func exchange(
        _ name: String, _ operations: Int, _ store: Store, _ service: GeneratedService
    ) async throws -> Work {
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Bench", syncOnSave: false))
        return try await Work(name, operations) { progress in
            let events = engine.events
            let watching = Task {
                for await case .progress in events { progress() }
            }
            _ = try await engine.sync()
            await engine.stop()
            watching.cancel()
        }
    }

    /// Contacts as the service has them.
    private func templates() async throws -> [ServiceRecord] {
        try await withStore(.relaxed) { store in
            try self.save(0..<1_000, in: store)
            let cloud = SimulatedCloud()
            let engine = SyncEngine(
                store: store, service: cloud.connection(device: "templates"),
                configuration: SyncConfiguration(zoneName: "Bench", syncOnSave: false))
            _ = try await engine.sync()
            return cloud.records(in: ZoneID("Bench"))
        }
    }
}
