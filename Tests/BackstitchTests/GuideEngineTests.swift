import Backstitch
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct GuideEngineTests {
    @Test func `what the guide shows of an engine ends with it`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let engine = SyncEngine(
            store: store, service: SimulatedCloud().connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        let showing = Task { try await show(engine) }
        try await store.write { _ = try $0.save(Department(name: "Engines")) }
        try await engine.sync()

        let refused = try await engine.waitUntilSynced()  // all is pushed, but for these
        await engine.stop()

        try await showing.value
        #expect(refused.isEmpty)
        #expect(try engine.pending().pendingRecords == 0)
    }

    private func show(_ engine: SyncEngine) async throws {
        for await event in engine.events {
            switch event {
            case .finished(let report): print(report.pulledRecords, report.pushedRecords)
            case .failed(let error): print(error.message)  // a started engine tries again
            case .conflict(let conflict): print(conflict.record)  // the journal has both sides
            case .parked(let record): print(record.record, record.reason)
            default: break  // rounds that begin, progress, files
            }
            print(engine.status, try engine.pending().pendingRecords)  // as they are now
        }
    }
}
