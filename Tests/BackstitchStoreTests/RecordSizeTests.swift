import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Records that are larger than a service takes are known when they are saved.
@Suite(.budgeted) struct RecordSizeTests {
    private let events = Locked<[MonitorEvent]>([])

    private func store(
        bytes: Int = 1_000_000, refuses: Bool = false, isMonitored: Bool = true
    ) throws -> Store {
        var configuration = StoreConfiguration(
            durability: .relaxed, recordBytesMax: bytes, refusesLargeRecords: refuses)
        if isMonitored {
            configuration.monitor = { [events] event in events.withLock { $0.append(event) } }
        }
        return try Store.inMemory(schema: .all, configuration: configuration)
    }

    /// What the monitor was told of large records.
    private var told: [[String: Int]] {
        events.withLock { $0 }.filter { $0.name == "store.largeRecords" }.map(\.counts)
    }

    /// A title with which a project named "p" has so many bytes for a service.
    private static func title(recordBytes: Int) -> String {
        let names = "p".utf8.count + "Project".utf8.count + "title".utf8.count
        return String(repeating: "x", count: recordBytes - names)
    }

    @Test func `a record of a byte too much is told by its entity, and kept`() throws {
        let store = try store()
        let most = Project(id: "p", title: Self.title(recordBytes: 1_000_000))
        try store.write { _ = try $0.save(most) }
        try store.write { _ = try $0.save(Project(id: "q", title: "small")) }
        let large = Project(id: "p", title: Self.title(recordBytes: 1_000_001))
        try store.write { _ = try $0.save(large) }
        store.close()
        #expect(told == [["Project": 1]])
    }

    @Test func `what is told is what a push is refused for`() async throws {
        let store = try store()
        let cloud = SimulatedCloud()
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Z", syncOnSave: false))
        try await store.save(Project(id: "p", title: Self.title(recordBytes: 1_000_000)))
        try await engine.sync()
        #expect(cloud.records(in: ZoneID("Z")).count == 1 && told == [])
        try await store.save(Project(id: "p", title: Self.title(recordBytes: 1_000_001)))
        try await engine.sync()
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.parkedRecords == 1)
        await engine.stop()
        store.close()
        #expect(told == [["Project": 1]])
    }

    @Test func `an update of another attribute can make a record too large`() throws {
        let store = try store()
        let text = String(repeating: "x", count: 600_000)
        try store.write { _ = try $0.save(Everything(id: "e", string: text)) }
        try store.write {
            _ = try $0.save(Everything(id: "e", string: text, data: Data(text.utf8)))
        }
        store.close()
        #expect(told == [["Everything": 1]])
    }

    @Test func `values of every type are counted as the service counts them`() async throws {
        let record = Everything(
            id: "e", string: "é", bool: true, int: 1, int16: -2, int32: 3, int64: .max,
            float: 1.5, double: 0.1, decimal: 12.5, date: Date(timeIntervalSince1970: 1),
            data: Data([1, 2, 3]), uuid: UUID(), url: URL(string: "https://example.org/a"),
            reference: "n")
        let source = try store()
        let cloud = SimulatedCloud()
        let engine = SyncEngine(
            store: source, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Z", syncOnSave: false))
        try await source.save(record)
        try await engine.sync()
        await engine.stop()
        let pushed = try #require(cloud.records(in: ZoneID("Z")).first)
        let bytes = pushed.fields.reduce(
            pushed.recordName.utf8.count + pushed.recordType.utf8.count
        ) { $0 + $1.key.utf8.count + $1.value.countedBytes }
        try await store(bytes: bytes, refuses: true).save(record)
        let error = await #expect(throws: StoreError.self) {
            try await store(bytes: bytes - 1, refuses: true).save(record)
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("\(bytes) bytes") == true)
    }

    @Test func `a write of a refused record leaves nothing, with and without a monitor`() throws {
        for isMonitored in [true, false] {
            let store = try store(bytes: 1_000, refuses: true, isMonitored: isMonitored)
            let error = #expect(throws: StoreError.self) {
                try store.write { transaction in
                    try transaction.save(Project(id: "q", title: "small"))
                    try transaction.save(Project(id: "p", title: Self.title(recordBytes: 1_001)))
                }
            }
            #expect(error?.code == .tooLarge)
            #expect(error?.message.contains("Project record p has 1001 bytes") == true)
            #expect(try store.read { try $0.count(Project.self) } == 0)
            #expect(try store.verify().problems == [])
        }
        #expect(told == [])
    }

    @Test func `what stays on the device or was taken back is not told`() throws {
        let store = try store(bytes: 1_000)
        let large = Project(id: "p", title: Self.title(recordBytes: 2_000))
        try store.write(isLocalOnly: true) { _ = try $0.save(large) }
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try store.write { transaction in
                try transaction.save(Project(id: "q", title: large.title))
                throw Refused()
            }
        }
        store.close()
        #expect(told == [])
    }
}
