import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity private struct Drawing: Equatable {
    var id = ID()
    var title: String
    @Attribute(.external) var strokes: Data?
    @Attribute(.external, .afterwards) var preview: Data?
}

/// Bytes that lie in files, from one device to another.
@Suite(.budgeted) struct ExternalSyncTests {
    private let folder: TemporaryFolder
    private let schema = StoreSchema(Drawing.self)

    init() throws { folder = try TemporaryFolder() }

    private func device(
        _ name: String, _ cloud: SimulatedCloud,
        configure: (inout SyncConfiguration) -> Void = { _ in }
    ) throws -> Device {
        Device(
            store: try folder.store(name, schema), service: cloud.connection(device: name),
            configure: configure)
    }

    private static var clouds: [SimulatedCloud] {
        var apple = SimulatedCloud.Options()
        apple.hasOpaqueChecksums = true
        apple.resumesUploads = false
        return [SimulatedCloud(), SimulatedCloud(options: apple)]
    }

    private static let strokes = Data(repeating: 7, count: 2_000_000)

    @Test(arguments: [0, 1])
    func `bytes go to another device, which has them when sync returns`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let drawing = Drawing(id: "d", title: "One", strokes: Self.strokes, preview: Data([1, 2]))
        try await phone.save(drawing)
        try await phone.sync()
        #expect(cloud.uploadedFileBytes == 2_000_002)
        guard case .asset? = cloud.record(named: "d", in: scenarioZone)?.fields["strokes"] else {
            Issue.record("The service has no file.")
            return
        }
        try await phone.expectSettled()
        try await laptop.sync()
        #expect(try laptop.find(Drawing.ID("d")) == drawing)
        var edited = drawing
        edited.title = "Two"
        try await laptop.save(edited)
        try await laptop.sync()
        let report = try await phone.sync()
        #expect(report.conflicts == 0)
        #expect(try phone.find(Drawing.ID("d")) == edited)
        #expect(cloud.uploadedFileBytes == 2_000_002, "an edit beside it sends no byte")
        edited.strokes = Data("new".utf8)
        try await phone.save(edited)
        try await phone.sync()
        try await laptop.sync()
        #expect(try laptop.find(Drawing.ID("d")) == edited)
        try await laptop.expectSettled()
        #expect(try await laptop.store.assets.verify().isConsistent)
    }

    @Test func `a download that fails leaves the record out, and the next call brings it`()
        async throws
    {
        let cloud = SimulatedCloud()
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let drawing = Drawing(id: "d", title: "One", strokes: Self.strokes)
        try await phone.save(drawing)
        try await phone.save(Drawing(id: "e", title: "Two"))
        try await phone.sync()
        laptop.service.failDownloads([.cut(afterBytes: 1_000)])
        let report = try await laptop.sync()
        #expect(report.pulledRecords == 2)
        #expect(try laptop.all(Drawing.self).map(\.title) == ["Two"])
        #expect { try laptop.find(Drawing.ID("d")) } throws: {
            ($0 as? StoreError)?.code == .notHere
        }
        try await laptop.sync()
        #expect(try laptop.find(Drawing.ID("d")) == drawing)
        try await laptop.expectSettled()
    }

    @Test func `an engine that was started brings the bytes by itself, and live queries see them`()
        async throws
    {
        let cloud = SimulatedCloud()
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let drawing = Drawing(id: "d", title: "One", strokes: Self.strokes)
        try await phone.save(drawing)
        try await phone.sync()
        var found = laptop.store.observe(Query<Drawing>()).makeAsyncIterator()
        #expect(try await found.next() == [])
        try await laptop.engine.start()
        while let drawings = try await found.next() {
            guard !drawings.isEmpty else { continue }
            #expect(drawings == [drawing])
            break
        }
        await laptop.engine.stop()
    }

    @Test func `the bytes are not evicted as long as a record has them`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        var drawing = Drawing(id: "d", title: "One", strokes: Self.strokes)
        try await phone.save(drawing)
        try await phone.sync()
        #expect(try await phone.store.assets.evict(downTo: 0).files == 0)
        #expect(try phone.find(Drawing.ID("d")) == drawing)
        drawing.strokes = nil
        try await phone.save(drawing)
        try await phone.sync()
        _ = try await phone.store.compact(through: .max)
        #expect(try await phone.store.assets.collect(addedBefore: .distantFuture).files <= 1)
        #expect(phone.store.assets.usage().files == 0)
    }

    @Test func `different bytes are a conflict, and the journal has the ones that lost`()
        async throws
    {
        let cloud = SimulatedCloud()
        let serverWins: (inout SyncConfiguration) -> Void = { $0.conflictPolicy = .serverWins }
        let phone = try device("phone", cloud, configure: serverWins)
        let laptop = try device("laptop", cloud, configure: serverWins)
        var drawing = Drawing(id: "d", title: "One", strokes: Data("base".utf8))
        try await phone.save(drawing)
        try await phone.sync()
        try await laptop.sync()
        drawing.strokes = Data("phone".utf8)
        try await phone.save(drawing)
        try await phone.sync()
        drawing.strokes = Data("laptop".utf8)
        try await laptop.save(drawing)
        let report = try await laptop.sync()
        #expect(report.conflicts == 1)
        #expect(try laptop.find(Drawing.ID("d"))?.strokes == Data("phone".utf8))
        let conflict = try #require(try laptop.engine.conflicts().first)
        guard case .asset(let lost)? = conflict.local?["strokes"] else {
            Issue.record("The journal has no file.")
            return
        }
        let reader = try await laptop.store.assets.open(lost)
        #expect(try reader.read(at: 0, count: 10) == Data("laptop".utf8))
        try await laptop.expectSettled()
    }
}
