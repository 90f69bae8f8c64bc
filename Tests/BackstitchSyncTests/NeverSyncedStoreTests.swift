import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// A store that was opened as one that never syncs, and what it is to an engine.
@Suite(.budgeted) struct NeverSyncedStoreTests {
    private let folder: TemporaryFolder
    private let cloud = SimulatedCloud()

    init() throws { folder = try TemporaryFolder() }

    private func open(syncs: Bool) throws -> Store {
        try Store(
            at: folder.path + "/store", schema: scenarioSchema,
            configuration: StoreConfiguration(durability: .relaxed, syncs: syncs))
    }

    @Test func `engines refuse it, and later push all that it has`() async throws {
        let alone = try open(syncs: false)
        let early = try Device(cloud, store: alone)
        for title in ["one", "two", "three"] { try await early.note("a", title) }
        try await early.note("b", "kept")
        try await early.note("c", "deleted")
        try await early.delete(Note.ID("c"))
        try await alone.compact(.keepUnsyncedOnly)
        let refusal = await #expect(throws: SyncError.self) { try await early.sync() }
        #expect(refusal?.code == .invalidConfiguration)
        #expect(refusal?.message.contains("Open it with syncs: true") == true)
        let second = await #expect(throws: SyncError.self) { try await early.engine.start() }
        #expect(second?.code == .invalidConfiguration)
        #expect(remote(cloud) == [])
        await early.engine.stop()
        alone.close()

        let phone = try Device(cloud, store: open(syncs: true))
        #expect(try phone.engine.pending().pendingRecords == 2)
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: three}", "Note b {title: kept}"])
        try await phone.note("a", "four")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: four}", "Note b {title: kept}"])
        try await phone.expectSettled()
        await phone.engine.stop()
        phone.store.close()

        let error = #expect(throws: StoreError.self) { _ = try open(syncs: false) }
        #expect(error?.code == .invalidSchema)
    }
}
