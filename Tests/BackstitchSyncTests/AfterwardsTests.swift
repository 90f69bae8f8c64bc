import Backstitch
import BackstitchCore
import BackstitchSimulation
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync

@Entity private struct Report: Equatable {
    var id = ID()
    var title: String
    var remark: String?
    @Attribute(.afterwards) var scan: Asset?
    @Attribute(.afterwards) var pages: [Asset] = []
    var cover: Asset?
}

/// Records that go before their files.
@Suite(.budgeted) struct AfterwardsTests {
    private let folder: TemporaryFolder
    private let cloud: SimulatedCloud
    private let schema = StoreSchema(Report.self)

    init() throws {
        var options = SimulatedCloud.Options()
        options.keepsVersions = true
        cloud = SimulatedCloud(options: options)
        folder = try TemporaryFolder()
    }

    private func device(
        _ name: String, _ policy: ConflictPolicy = .merge(otherwise: .serverWins)
    ) throws -> Device {
        Device(store: try folder.store(name, schema), service: cloud.connection(device: name)) {
            $0.conflictPolicy = policy
        }
    }

    private func add(_ text: String, to device: Device) async throws -> Asset {
        try await device.store.assets.add { try $0.write(Array(text.utf8)) }
    }

    private func report(_ name: String, on device: Device) throws -> Report {
        try #require(try device.find(Report.ID(name)))
    }

    /// What does not add up in the log of the phone.
    private func problems(_ phone: Device) throws -> [String] {
        try phone.store.read { [cloud] transaction in
            var expectation = LogAccount.Expectation()
            expectation.isOwn = { cloud.writer(tagged: $0) == "phone" }
            return try LogAccount(
                transaction.reader, mayGoBack: false, expectation: expectation
            ) { cloud.version(tagged: $0) }
        }.problems
    }

    /// What the service has of a record, without empty lists.
    private func onService(_ name: String = "r") -> NamedFields {
        let fields = cloud.record(named: name, in: scenarioZone)?.fields ?? [:]
        return fields.filter { _, value in
            if case .list(let elements, of: _) = value { !elements.isEmpty } else { value != .null }
        }
    }

    @Test func `a new record goes before its files, which follow as an update`() async throws {
        let (phone, laptop) = (try device("phone"), try device("laptop"))
        try await phone.save(
            Report(
                id: "r", title: "One", scan: try await add("scan", to: phone),
                pages: [try await add("page", to: phone)]))
        phone.service.failUploads([.error(.network), .error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService().keys.sorted() == ["title"])
        #expect(cloud.fileCount == 0)
        #expect(try phone.engine.pending().pendingRecords == 1)
        try await laptop.sync()
        #expect(try report("r", on: laptop) == Report(id: "r", title: "One"))
        let later = try await phone.sync()
        #expect(later.conflicts == 0 && later.recordsWaitingForFiles == 0)
        #expect(cloud.uploadedFileBytes == 8)
        try await phone.expectSettled()
        try await laptop.sync()
        let pulled = try report("r", on: laptop)
        #expect(pulled.scan?.byteCount == 4 && pulled.pages.map(\.byteCount) == [4])
        #expect(try await laptop.engine.downloadFiles() == 2)
        try await laptop.expectSettled()
    }

    @Test func `one call sends the record, the file and then the rest`() async throws {
        let phone = try device("phone")
        try await phone.save(
            Report(id: "r", title: "One", scan: try await add("scan", to: phone)))
        let report = try await phone.sync()
        #expect(report.pushedRecords == 2 && report.recordsWaitingForFiles == 0)
        #expect(onService().keys.sorted() == ["scan", "title"])
        try await phone.expectSettled()
    }

    @Test func `an edit goes before the file that it came with, and the file that was there stays`()
        async throws
    {
        let phone = try device("phone")
        let first = try await add("first", to: phone)
        try await phone.save(Report(id: "r", title: "One", scan: first))
        try await phone.sync()
        let before = onService()["scan"]
        var edited = try report("r", on: phone)
        edited.title = "Two"
        edited.scan = try await add("second", to: phone)
        try await phone.save(edited)
        phone.service.failUploads([.error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService()["title"] == .string("Two") && onService()["scan"] == before)
        #expect(try report("r", on: phone) == edited, "nothing changed here")
        try await phone.sync()
        #expect(onService()["scan"] != before)
        #expect(cloud.uploadedFileBytes == 11)
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins, .lastWriterWins])
    func `a lost reply to what went before its file is no conflict`(policy: ConflictPolicy)
        async throws
    {
        let phone = try device("phone", policy)
        try await phone.save(
            Report(id: "r", title: "One", scan: try await add("first", to: phone)))
        phone.service.inject(ScriptedFault(.lostReply, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(try await phone.sync().conflicts == 0)
        try await phone.expectSettled()
        var edited = try report("r", on: phone)
        edited.title = "Two"
        edited.scan = try await add("second", to: phone)
        try await phone.save(edited)
        phone.service.inject(ScriptedFault(.lostReply, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(try await phone.sync().conflicts == 0)
        #expect(try report("r", on: phone).scan == edited.scan)
        #expect(cloud.uploadedFileBytes == 11)
        try await phone.expectSettled()
    }

    @Test func `what stays on this device does so behind an edit that went before its file`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(Report(id: "r", title: "One"))
        try await phone.sync()
        try await phone.store.write(isLocalOnly: true) {
            _ = try $0.save(Report(id: "r", title: "Mine"))
        }
        var edited = try report("r", on: phone)
        edited.remark = "seen"
        edited.scan = try await add("scan", to: phone)
        try await phone.save(edited)
        phone.service.failUploads([.error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService() == ["title": .string("One"), "remark": .string("seen")])
        phone.service.inject(ScriptedFault(.lostReply, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService().keys.sorted() == ["remark", "scan", "title"])
        #expect(try await phone.sync().conflicts == 0)
        #expect(try report("r", on: phone) == edited)
        #expect(onService()["title"] == .string("One"))
        try await phone.expectSettled()
    }

    @Test func `what stays here does so though the reply to an edit without its file was lost`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(Report(id: "r", title: "One"))
        try await phone.sync()
        try await phone.store.write(isLocalOnly: true) {
            _ = try $0.save(Report(id: "r", title: "Mine"))
        }
        var edited = try report("r", on: phone)
        edited.remark = "seen"
        edited.scan = try await add("scan", to: phone)
        try await phone.save(edited)
        phone.service.inject(ScriptedFault(.lostReply, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService()["remark"] == .string("seen"))
        #expect(try await phone.sync().conflicts == 0)
        #expect(try report("r", on: phone) == edited)
        #expect(onService().keys.sorted() == ["remark", "scan", "title"])
        #expect(onService()["title"] == .string("One"))
        #expect(try problems(phone) == [])
        try await phone.expectSettled()
    }

    @Test(arguments: [false, true])
    func `what stays on this device is edited or deleted while the rest goes before its file`(
        isDeleted: Bool
    ) async throws {
        let phone = try device("phone")
        try await phone.save(Report(id: "r", title: "One"))
        try await phone.sync()
        try await phone.store.write(isLocalOnly: true) {
            _ = try $0.save(Report(id: "r", title: "Mine"))
        }
        var edited = try report("r", on: phone)
        edited.remark = "seen"
        edited.scan = try await add("scan", to: phone)
        try await phone.save(edited)
        edited.title = "Two"
        let later = edited
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify else { return }
            try? phone.store.write { transaction in
                if isDeleted {
                    _ = try transaction.delete(Report.ID("r"))
                } else {
                    _ = try transaction.save(later)
                }
            }
        }
        phone.service.failUploads([.error(.network)])
        _ = try? await phone.sync()
        phone.service.beforeReply = nil
        try await phone.sync()
        let title: ServiceValue? = isDeleted ? nil : .string("Two")
        let left: Report? = isDeleted ? nil : later
        #expect(onService()["title"] == title)
        #expect(try phone.find(Report.ID("r")) == left)
        #expect(try problems(phone) == [])
        try await phone.expectSettled()
    }

    @Test func `the file that was there is the base for what comes meanwhile`() async throws {
        let (phone, laptop) = (try device("phone"), try device("laptop"))
        try await phone.save(
            Report(id: "r", title: "One", pages: [try await add("first", to: phone)]))
        try await phone.sync()
        try await laptop.sync()
        var edited = try report("r", on: phone)
        edited.title = "Two"
        edited.pages = [try await add("second", to: phone)]
        try await phone.save(edited)
        phone.service.failUploads([.error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        var other = try report("r", on: laptop)
        other.cover = try await add("cover", to: laptop)
        try await laptop.save(other)
        try await laptop.sync()
        let synced = try await phone.sync()
        #expect(synced.conflicts == 0, "the other device left the pages alone")
        #expect(try report("r", on: phone).pages == edited.pages)
        try await phone.expectSettled()
        try await laptop.sync()
        let found = try report("r", on: laptop)
        #expect(found.title == "Two" && found.pages.map(\.byteCount) == [6])
    }

    @Test func `a file without more to push waits, and so does a record for its other files`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(Report(id: "r", title: "One"))
        try await phone.sync()
        var edited = try report("r", on: phone)
        edited.scan = try await add("scan", to: phone)
        try await phone.save(edited)
        try await phone.save(
            Report(
                id: "other", title: "x", scan: try await add("one", to: phone),
                cover: try await add("two", to: phone)))
        phone.service.failUploads([.error(.network), .error(.network), .error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(onService().keys.sorted() == ["title"])
        #expect(cloud.record(named: "other", in: scenarioZone) == nil)
        try await phone.sync()
        try await phone.expectSettled()
        #expect(onService("other").count == 3)
    }

    @Test func `a receipt that comes while the record is pushed is not used up with it`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(
            Report(id: "r", title: "One", scan: try await add("scan", to: phone)))
        let field = AssetField(recordName: "r", recordType: "Report", fieldName: "scan")
        let asset = try #require(try report("r", on: phone).scan)
        let file = ServiceAsset(
            fileChecksum: asset.content, size: 4, receipt: "none that the service knows")
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify else { return }
            // As an upload that ends at this moment.
            try? phone.store.write { transaction in
                let upload = AssetUpload(
                    asset: asset, field: field, place: .own(scenarioZone.zoneName))
                try ReceiptWriter(transaction.log).keep(
                    AssetReceipt(file, zone: scenarioZone.zoneName, until: .max), of: upload)
            }
        }
        phone.service.failUploads([.error(.network)])
        _ = try? await phone.sync()
        phone.service.beforeReply = nil
        let kept = try phone.store.read { transaction in
            var names: [String] = []
            try transaction.reader.meta.visit("receipt.") { name, _ in
                names.append(name)
                return true
            }
            return names
        }
        #expect(kept.count == 1)
        try await phone.sync()
        try await phone.expectSettled()
    }

    @Test func `a receipt that is refused ends those of the fields that were left out`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(
            Report(
                id: "r", title: "One", pages: [try await add("first", to: phone)],
                cover: try await add("cover", to: phone)))
        // Both files are uploaded, and the record is not pushed.
        phone.service.inject(ScriptedFault(.lostRequest, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(cloud.uploadedFileBytes == 10 && cloud.record(named: "r", in: scenarioZone) == nil)
        // The pages are left out of the first request, because one of them waits.
        var edited = try report("r", on: phone)
        edited.pages.append(try await add("second", to: phone))
        try await phone.save(edited)
        cloud.expireReceipts()
        let synced = try await phone.sync()
        #expect(synced.parkedRecords == 0 && synced.pushedRecords == 1)
        #expect(try phone.engine.parked().isEmpty)
        #expect(onService().keys.sorted() == ["cover", "pages", "title"])
        #expect(cloud.uploadedFileBytes == 26, "every file is sent once more")
        try await phone.expectSettled()
    }

    @Test func `a file that can't be uploaded parks what is left of the record`() async throws {
        let phone = try device("phone")
        try await phone.save(
            Report(id: "r", title: "One", scan: try await add("scan", to: phone)))
        phone.service.failUploads([.error(.limitExceeded)])
        let report = try await phone.sync()
        #expect(report.parkedRecords == 1)
        #expect(onService().keys.sorted() == ["title"])
        #expect(try phone.engine.parked().map(\.code) == [.limitExceeded])
        try await phone.engine.retryParked(try phone.engine.parked())
        try await phone.sync()
        #expect(onService().keys.sorted() == ["scan", "title"])
        try await phone.expectSettled()
    }

    @Test func `a record that is deleted before its file is up takes the upload along`()
        async throws
    {
        let phone = try device("phone")
        try await phone.save(
            Report(id: "r", title: "One", scan: try await add("scan", to: phone)))
        phone.service.failUploads([.error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        try await phone.delete(Report.ID("r"))
        try await phone.sync()
        #expect(cloud.record(named: "r", in: scenarioZone) == nil && cloud.fileCount == 0)
        try await phone.expectSettled()
    }

    @Test(arguments: [
        ConflictPolicy.serverWins, .clientWins, .lastWriterWins, .keepBoth,
        .merge(otherwise: .serverWins),
    ])
    func `another device's edit stands beside a file that is still to come`(
        policy: ConflictPolicy
    ) async throws {
        let (phone, laptop) = (try device("phone", policy), try device("laptop", policy))
        let scan = try await add("scan", to: phone)
        try await phone.save(Report(id: "r", title: "One", scan: scan))
        phone.service.failUploads([.error(.network)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        try await laptop.sync()
        var edited = try report("r", on: laptop)
        edited.title = "Two"
        try await laptop.save(edited)
        try await laptop.sync()
        let report = try await phone.sync()
        #expect(report.conflicts == 0)
        #expect(try self.report("r", on: phone) == Report(id: "r", title: "Two", scan: scan))
        #expect(onService()["title"] == .string("Two") && onService()["scan"] != nil)
        try await phone.expectSettled()
    }
}
