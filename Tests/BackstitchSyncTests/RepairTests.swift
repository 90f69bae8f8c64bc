import Backstitch
import BackstitchRepair
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// A store that lost operations, repaired, meets the service.
@Suite(.budgeted) struct RepairTests {
    let cloud = SimulatedCloud()
    let root: String

    init() throws {
        root = FileManager.default.temporaryDirectory.path + "/repair-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    private var path: String { root + "/store" }

    private func open() throws -> Device {
        try Device(cloud, store: try Store(at: path, schema: scenarioSchema))
    }

    /// Changes the databases behind the back of the store, which is closed, and leaves no free pages,
    /// where what was taken out could be found.
    private func tamper(_ body: @escaping @Sendable (Access, Databases) throws -> Void) throws {
        let environment = try Environment.open(
            at: path, options: .store)
        let databases = try Databases(environment)
        try environment.writer.submitAndWait {
            try environment.write { try body($0.access, databases) }
        }
        try environment.copy(to: path + "-copy")
        environment.close()
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + "-copy", toPath: path)
    }

    /// Takes a record out of the log and the tables, but for some operations.
    private func lose(_ name: String, row: Bool, keeping kept: Set<Int> = []) throws {
        try tamper { access, databases in
            var sequences: [UInt64] = []
            try access.withCursor(in: databases.log) { cursor in
                while try cursor.next() {
                    let operation = try OperationView(cursor.value, sequence: cursor.key.sequence)
                    if try operation.key.name.description == name {
                        sequences.append(operation.sequence)
                    }
                }
            }
            for (place, sequence) in sequences.enumerated() where !kept.contains(place) {
                try TableKey.withSequence(sequence) { _ = try access.delete($0, in: databases.log) }
            }
            guard row else { return }
            try TableKey.withRow(EntityNumber(1), RecordKey(RecordName(name))) {
                try databases.delete($0, access)
                // So that its absence proves nothing.
                try databases.put($0, $0, access)
            }
        }
    }

    @Test func `lost records come back, and nothing is deleted on the service`() async throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let phone = try open()
        for name in ["a", "b", "c", "d"] { try await phone.note(name, name + "1") }
        try await phone.sync()
        try await phone.note("b", "b2")
        try await phone.sync()
        try await phone.note("c", "c2")  // Not synced when the damage comes.
        let tablet = try Device(cloud, "tablet")
        try await tablet.sync()
        try await tablet.delete(Note.ID("d"))
        try await tablet.sync()
        let before = remote(cloud)
        phone.store.close()

        try lose("a", row: true)
        try lose("b", row: true, keeping: [0, 1, 3])
        try lose("c", row: false, keeping: [2])
        let head = try StoreRepair(path).diagnosis().operations
        #expect(head > 0)
        let report = try StoreRepair(path).repair(milliseconds: 1)
        #expect(report.diagnosis.remedy == .salvage)
        #expect(report.salvage?.fetchesAll == true)
        #expect(report.salvage?.recordsCurrent.names == ["Note/c"], "\(report)")
        #expect(report.salvage?.editsLost.count == 0)

        let repaired = try open()
        defer { repaired.store.close() }
        #expect(try repaired.titles()["c"] == "c2")
        cloud.clearRequests()
        try await repaired.sync()
        let sent = cloud.requests.filter { $0.kind == .modify }.flatMap(\.modifications)
        #expect(sent.count == 1)
        #expect(try repaired.titles() == ["a": "a1", "b": "b2", "c": "c2"])
        #expect(remote(cloud) == before.map { $0.replacing("title: c1", with: "title: c2") })
        try await repaired.expectSettled()
    }

    @Test func `sequences are not given twice, though the end of the log is lost`() async throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let phone = try open()
        for name in ["a", "b", "c"] { try await phone.note(name, "1") }
        phone.store.close()
        try lose("c", row: false)
        _ = try StoreRepair(path).repair(milliseconds: 1)
        let repaired = try open()
        defer { repaired.store.close() }
        try await repaired.note("d", "1")
        #expect(try repaired.store.read { try $0.lastSequence } > 4)
        #expect(try repaired.titles()["c"] == "1")
        try await repaired.sync()
        #expect(remote(cloud).count == 4)
        try await repaired.expectSettled()
    }
}
