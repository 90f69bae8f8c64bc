import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity private struct Photo: Equatable {
    var id = ID()
    var title: String
    var image: Asset?
    var more: [Asset] = []
}

@Entity private struct Comment: Equatable {
    var id = ID()
    var text: String
    @Relationship(onDelete: .deny) var photo: Photo.ID?
}

/// Files from one device to another, with all that may happen on the way.
@Suite(.budgeted) struct AssetSyncTests {
    private let folder: TemporaryFolder
    private let schema = StoreSchema(Photo.self, Comment.self)

    init() throws { folder = try TemporaryFolder() }

    private func device(
        _ name: String, _ cloud: SimulatedCloud,
        configure: (inout SyncConfiguration) -> Void = { _ in }
    ) throws -> Device {
        Device(
            store: try folder.store(name, schema), service: cloud.connection(device: name),
            configure: configure)
    }

    private func add(_ text: String, to device: Device, name: String? = "n.txt") async throws
        -> Asset
    {
        try await device.store.assets.add(contentType: "text/plain", fileName: name) {
            try $0.write(Array(text.utf8))
        }
    }

    private func text(_ asset: Asset?, on device: Device) async throws -> String {
        let reader = try await device.store.assets.open(try #require(asset))
        return String(
            decoding: try reader.read(at: 0, count: Int(reader.byteCount)), as: UTF8.self)
    }

    private func photo(_ name: String, on device: Device) throws -> Photo {
        try #require(try device.find(Photo.ID(name)))
    }

    /// The receipts that a device keeps.
    private func receipts(of device: Device) throws -> [String] {
        try device.store.read { transaction in
            var names: [String] = []
            try transaction.reader.meta.visit("receipt.") { name, _ in
                names.append(name)
                return true
            }
            return names
        }
    }

    private static var clouds: [SimulatedCloud] {
        var apple = SimulatedCloud.Options()
        apple.hasOpaqueChecksums = true
        apple.resumesUploads = false
        return [SimulatedCloud(), SimulatedCloud(options: apple)]
    }

    // MARK: There and back

    @Test(arguments: [0, 1])
    func `a file goes from one device to another, when it is opened`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "One", image: image))
        let report = try await phone.sync()
        #expect(report.pushedRecords == 1 && report.recordsWaitingForFiles == 0)
        #expect(cloud.fileCount == 1 && cloud.uploadedFileBytes == 7)
        #expect(try receipts(of: phone) == [], "it is used up")
        try await phone.expectSettled()
        let lanes = try #require(EngineSign(of: phone.store)?.report?.lanes)
        #expect(lanes.map(\.name) == ["upload", "download"])
        #expect(lanes.map(\.done) == [1, 0] && lanes.map(\.failed) == [0, 0])
        #expect(lanes.allSatisfy { $0.isIdle })

        let laptop = try device("laptop", cloud)
        try await laptop.sync()
        let pulled = try photo("p", on: laptop)
        #expect(pulled.image?.byteCount == 7)
        #expect(try !laptop.store.assets.isHere(try #require(pulled.image)))
        #expect(try await text(pulled.image, on: laptop) == "picture")
        #expect(try laptop.store.assets.isHere(try #require(pulled.image)))
        #expect(laptop.store.assets.folder.incomingCount == 0)
        try await laptop.expectSettled()
    }

    @Test(arguments: [0, 1])
    func `what comes back is known for what was sent, and keeps its name`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "One", image: image))
        try await phone.sync()
        try await laptop.sync()
        var other = try photo("p", on: laptop)
        other.title = "Two"
        try await laptop.save(other)
        try await laptop.sync()
        let report = try await phone.sync()
        #expect(report.conflicts == 0)
        let mine = try photo("p", on: phone)
        #expect(mine.title == "Two" && mine.image == image)
        #expect(cloud.uploadedFileBytes == 7, "an edit beside it sends no file again")
        try await phone.expectSettled()
    }

    @Test(arguments: [0, 1])
    func `a lost reply to the save sends nothing twice`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "One", image: try await add("picture", to: phone)))
        phone.service.inject(ScriptedFault(.lostReply, on: .modify))
        await #expect(throws: SyncError.self) { try await phone.sync() }
        let report = try await phone.sync()
        #expect(report.conflicts == 0 && cloud.uploadedFileBytes == 7)
        try await phone.expectSettled()
    }

    @Test func `lists of files go and come`() async throws {
        let cloud = SimulatedCloud()
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let files = [try await add("one", to: phone), try await add("two", to: phone)]
        try await phone.save(Photo(id: "p", title: "x", more: files))
        try await phone.sync()
        try await laptop.sync()
        let pulled = try photo("p", on: laptop)
        #expect(pulled.more.count == 2)
        #expect(try await text(pulled.more[0], on: laptop) == "one")
        #expect(try await text(pulled.more[1], on: laptop) == "two")
        try await laptop.expectSettled()
    }

    @Test func `a file that another record holds can be given to a new one`() async throws {
        let cloud = SimulatedCloud()
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("shared", to: phone)))
        try await phone.sync()
        try await laptop.sync()
        // It was never opened here: it is downloaded to be uploaded for the other record.
        try await laptop.save(
            Photo(id: "q", title: "y", image: try photo("p", on: laptop).image))
        try await laptop.sync()
        try await phone.sync()
        #expect(try await text(photo("q", on: phone).image, on: phone) == "shared")
        try await laptop.expectSettled()
    }

    @Test(arguments: [0, 1])
    func `the same content in a second record is not sent again`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let image = try await add("shared", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        try await phone.sync()
        try await phone.save(Photo(id: "q", title: "y", image: image))
        try await phone.sync()
        #expect(cloud.uploadedFileBytes == 6)
        try await laptop.sync()
        // What was never opened here is not even downloaded for that.
        try await laptop.save(
            Photo(id: "r", title: "z", image: try photo("q", on: laptop).image))
        laptop.service.failDownloads([.error(.network)])
        try await laptop.sync()
        #expect(cloud.uploadedFileBytes == 6)
        try await phone.sync()
        #expect(try await text(photo("r", on: phone).image, on: phone) == "shared")
        try await phone.expectSettled()
    }

    @Test func `a file that a synced record holds on this device alone is not evicted`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("everybody's", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        try await phone.sync()
        let own = try await add("mine", to: phone)
        try await phone.store.write(isLocalOnly: true) { transaction in
            try transaction.save(Photo(id: "p", title: "x", image: own))
        }
        _ = try await phone.store.assets.evict(downTo: 0)
        #expect(try phone.store.assets.isHere(own))
        #expect(try await text(own, on: phone) == "mine")
    }

    @Test func `a list with the same content twice sends it once`() async throws {
        let cloud = Self.clouds[1]
        let phone = try device("phone", cloud)
        let one = try await add("twice", to: phone)
        let other = try await add("twice", to: phone, name: "other.txt")
        try await phone.save(Photo(id: "p", title: "x", more: [one, other]))
        try await phone.sync()
        #expect(cloud.uploadedFileBytes == 5)
        try await phone.expectSettled()
    }

    @Test func `a list with a content by its hash and by the service's checksum sends it once`()
        async throws
    {
        let cloud = Self.clouds[1]
        let (phone, laptop) = (
            try device("phone", cloud), try device("laptop", cloud) { $0.transfersMax = 1 }
        )
        try await phone.save(
            Photo(id: "p", title: "x", more: [try await add("picture", to: phone)]))
        try await phone.sync()
        try await laptop.sync()
        var photo = try photo("p", on: laptop)
        photo.more.append(try await add("picture", to: laptop))
        try await laptop.save(photo)
        try await laptop.sync()
        #expect(cloud.uploadedFileBytes == 14)
        try await phone.sync()
        #expect(try self.photo("p", on: phone).more.count == 2)
        try await laptop.expectSettled()
    }

    @Test func `a file that was added here and came from the service is no edit of its field`()
        async throws
    {
        let cloud = Self.clouds[1]
        let (phone, laptop) = (
            try device("phone", cloud),
            try device("laptop", cloud) { $0.conflictPolicy = .merge(otherwise: .clientWins) }
        )
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        try await phone.sync()
        try await laptop.sync()
        // What the service calls it is known here since it was uploaded for another record.
        let same = try await add("picture", to: laptop)
        try await laptop.save(Photo(id: "q", title: "y", image: same))
        try await laptop.sync()
        var mine = try photo("p", on: laptop)
        mine.image = same
        mine.title = "mine"
        try await laptop.save(mine)
        var other = try photo("p", on: phone)
        other.image = try await add("another", to: phone)
        try await phone.save(other)
        try await phone.sync()
        try await laptop.sync()
        let merged = try photo("p", on: laptop)
        #expect(merged.title == "mine")
        #expect(try await text(merged.image, on: laptop) == "another")
        try await laptop.expectSettled()
    }

    @Test func `downloads make room by evicting what was not opened for longest`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        for (name, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
            try await phone.save(
                Photo(id: Photo.ID(name), title: name, image: try await add(text, to: phone)))
        }
        try await phone.sync()
        let laptop = try device("laptop", cloud) { $0.assetBytesMax = 11 }
        try await laptop.sync()
        for (name, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
            #expect(try await self.text(photo(name, on: laptop).image, on: laptop) == text)
            #expect(laptop.store.assets.usage().bytes <= 11)
        }
        // What nobody else has stays, whatever the limit says.
        let own = try await add("only here, and larger than all", to: laptop)
        try await laptop.save(Photo(id: "d", title: "d", image: own))
        #expect(try await text(photo("a", on: laptop).image, on: laptop) == "first")
        #expect(try laptop.store.assets.isHere(own))
    }

    // MARK: Waiting

    @Test func `a record whose file is not up waits, and no other one with it`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "waits", image: try await add("picture", to: phone)))
        try await phone.save(Comment(id: "c", text: "needs it", photo: "p"))
        try await phone.save(Photo(id: "q", title: "goes"))
        phone.service.failUploads([.error(.network)])
        let error = await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(error?.code == .unreachable)
        let names = cloud.records(in: scenarioZone).map(\.recordName)
        #expect(names == ["q"])
        #expect(try phone.engine.pending().pendingRecords == 2)
        #expect(
            try phone.engine.parked().isEmpty, "what needs the record waits, and is not refused")
        let report = try await phone.sync()
        #expect(report.pushedRecords == 2 && report.recordsWaitingForFiles == 0)
        try await phone.expectSettled()
    }

    @Test(arguments: [0, 1])
    func `a file that is not here can be given to another record`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let (laptop, image) = try await pulled(cloud)
        try await laptop.store.write { transaction in
            try transaction.save(Photo(id: "q", title: "moved", image: image))
            _ = try transaction.delete(Photo.ID("p"))
        }
        let report = try await laptop.sync()
        #expect(report.pushedRecords == 2)
        #expect(try laptop.engine.parked().isEmpty)
        cloud.collectFiles()
        #expect(cloud.records(in: scenarioZone).map(\.recordName) == ["q"])
        let tablet = try device("tablet", cloud)
        try await tablet.sync()
        #expect(try await text(try photo("q", on: tablet).image, on: tablet) == "picture")
        try await laptop.expectSettled()
    }

    @Test func `an upload that was cut goes on where it stopped`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let text = String(repeating: "0123456789", count: 1_000)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add(text, to: phone)))
        phone.service.failUploads([.cut(afterBytes: 6_000), .cut(afterBytes: 3_000)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        await #expect(throws: SyncError.self) { try await phone.sync() }
        try await phone.sync()
        #expect(cloud.resumedUploads == 2 && cloud.uploadedFileBytes == 10_000)
        try await phone.expectSettled()
    }

    @Test func `an answer that got lost after the last byte sends no byte again`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        phone.service.failUploads([.lostReply])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        try await phone.sync()
        #expect(cloud.uploadedFileBytes == 7 && cloud.fileCount == 1)
        try await phone.expectSettled()
    }

    @Test func `an upload survives the end of the engine`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        phone.service.failUploads([.cut(afterBytes: 4)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        let again = await phone.restarted()
        try await again.sync()
        #expect(cloud.uploadedFileBytes == 7)
        try await again.expectSettled()
    }

    @Test func `a receipt that ended is asked for once more`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        let hook = OnceHook { cloud.expireReceipts() }
        phone.service.beforeRequest = { info throws(ServiceError) in
            if info.kind == .modify { hook.run() }
        }
        let report = try await phone.sync()
        #expect(report.pushedRecords == 1 && cloud.uploadedFileBytes == 14)
        try await phone.expectSettled()
    }

    @Test func `a service that takes no receipt has the record parked, and the rest goes on`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        phone.service.beforeRequest = { info throws(ServiceError) in
            if info.kind == .modify { cloud.expireReceipts() }
        }
        let report = try await phone.sync()
        #expect(report.parkedRecords == 1 && cloud.uploadedFileBytes == 14)
        #expect(try phone.engine.parked().first?.code == .assetMissing)
    }

    @Test func `a record that was parked for its receipts is uploaded anew when it is tried again`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        phone.service.beforeRequest = { info throws(ServiceError) in
            if info.kind == .modify { cloud.expireReceipts() }
        }
        try await phone.sync()
        phone.service.beforeRequest = nil
        try await phone.engine.retryParked(try phone.engine.parked())
        let report = try await phone.sync()
        #expect(report.pushedRecords == 1 && report.parkedRecords == 0)
        #expect(cloud.uploadedFileBytes == 21)
        try await phone.expectSettled()
    }

    @Test func `a limit of the service is waited for while the records of other files go on`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud) { $0.transfersMax = 1 }
        for name in ["p", "q", "r"] {
            try await phone.save(
                Photo(id: Photo.ID(name), title: "x", image: try await add(name, to: phone)))
        }
        phone.service.failUploads([.error(.rateLimited), .error(.rateLimited)])
        let report = try await phone.sync()
        #expect(report.pushedRecords == 3 && report.parkedRecords == 0)
        try await phone.expectSettled()

        // As long as nothing goes, the call ends and says why, and the record waits.
        try await phone.save(
            Photo(id: "s", title: "x", image: try await add("s", to: phone)))
        phone.service.failUploads([.error(.rateLimited)])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(try phone.engine.parked().isEmpty)
        #expect(try phone.engine.pending().pendingRecords == 1)
    }

    @Test func `a file that is too large has its record parked`() async throws {
        var options = SimulatedCloud.Options()
        options.fileBytesMax = 3
        let cloud = SimulatedCloud(options: options)
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        try await phone.save(Photo(id: "q", title: "y"))
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.code) == [.limitExceeded])
        // Another file is the remedy.
        try await phone.save(Photo(id: "p", title: "x", image: try await add("ok", to: phone)))
        try await phone.sync()
        try await phone.expectSettled()
    }

    @Test func `a good file stays if the service has other bytes than were sent, and is sent anew`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        phone.service.failUploads([.damaged])
        await #expect(throws: SyncError.self) { try await phone.sync() }
        #expect(try phone.store.assets.isHere(image))
        #expect(try phone.engine.parked().isEmpty)
        try await phone.sync()
        #expect(cloud.records(in: scenarioZone).count == 1)
        try await phone.expectSettled()
    }

    @Test func `a content that is gone everywhere has its record parked`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        try FileManager.default.removeItem(
            atPath: phone.store.directory.path + "/blobs")
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.code) == [.assetMissing])
    }

    @Test
    func `a record whose file is gone is pushed or parked with all its operations`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud) { $0.recordsPerPass = 1 }
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        try await phone.save(Photo(id: "q", title: "y"))
        // A pass of one record leaves a delete to a later one.
        try await phone.delete(Photo.ID("p"))
        try FileManager.default.removeItem(atPath: phone.store.directory.path + "/blobs")
        let report = try await phone.sync()
        #expect(report.pushedRecords == 1 && report.recordsWaitingForFiles == 0)
        #expect(cloud.records(in: scenarioZone).map(\.recordName) == ["q"])
        #expect(try phone.engine.parked().isEmpty)
        try await phone.expectSettled()
    }

    @Test func `a content that was changed on the disk is not given to others`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        let content = try #require(try phone.store.assets.content(of: image))
        let path = phone.store.assets.folder.path(content)
        try Data("changed".utf8).write(to: URL(filePath: path))
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.code) == [.assetMissing])
        #expect(try !phone.store.assets.isHere(image))
        // Adding it again is the remedy.
        _ = try await add("picture", to: phone)
        _ = try await phone.engine.retryParked()
        try await phone.sync()
        try await phone.expectSettled()
    }

    // MARK: Downloads

    /// A laptop that pulled a photo of a phone.
    private func pulled(_ cloud: SimulatedCloud) async throws -> (Device, Asset) {
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        try await phone.sync()
        try await laptop.sync()
        return (laptop, try #require(try photo("p", on: laptop).image))
    }

    @Test func `a download that was cut goes on`() async throws {
        let (laptop, image) = try await pulled(SimulatedCloud())
        laptop.service.failDownloads([.cut(afterBytes: 3)])
        let error = await #expect(throws: ServiceError.self) {
            _ = try await laptop.store.assets.open(image)
        }
        #expect(error?.code == .network)
        #expect(try !laptop.store.assets.isHere(image), "a part is no content")
        #expect(try await text(image, on: laptop) == "picture")
    }

    @Test func `an address that ended is asked for again`() async throws {
        let (laptop, image) = try await pulled(SimulatedCloud())
        laptop.service.failDownloads([.error(.permissionDenied)])
        #expect(try await text(image, on: laptop) == "picture")
    }

    @Test(arguments: [0, 1])
    func `bytes that are not the content never count`(kind: Int) async throws {
        let cloud = Self.clouds[kind]
        let (laptop, image) = try await pulled(cloud)
        guard image.content != nil else { return }
        cloud.damageFiles()
        let error = await #expect(throws: StoreError.self) {
            _ = try await laptop.store.assets.open(image)
        }
        #expect(error?.code == .assetCorrupt)
        #expect(try !laptop.store.assets.isHere(image))
    }

    @Test func `a content that the service lost is told as missing`() async throws {
        let cloud = SimulatedCloud()
        let (laptop, image) = try await pulled(cloud)
        cloud.loseFiles()
        let error = await #expect(throws: ServiceError.self) {
            _ = try await laptop.store.assets.open(image)
        }
        #expect(error?.code == .assetMissing)
    }

    @Test(arguments: [0, 1])
    func `a file comes from a record that holds it on the service alone`(kind: Int) async throws {
        let (laptop, image) = try await pulled(Self.clouds[kind])
        try await laptop.store.write(isLocalOnly: true) { transaction in
            try transaction.save(Photo(id: "q", title: "mine", image: image))
            _ = try transaction.delete(Photo.ID("p"))
        }
        #expect(try await text(try photo("q", on: laptop).image, on: laptop) == "picture")
        try await laptop.store.assets.collect(addedBefore: .distantFuture)
        #expect(try laptop.store.assets.isHere(image))
    }

    @Test func `calls for the same content wait for one download`() async throws {
        let (laptop, image) = try await pulled(SimulatedCloud())
        laptop.service.failDownloads([.error(.permissionDenied)])
        async let one = text(image, on: laptop)
        async let other = text(image, on: laptop)
        #expect(try await [one, other] == ["picture", "picture"])
    }

    @Test func `what the service has is evicted, and comes again when it is opened`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        #expect(try await phone.store.assets.evict(downTo: 0).files == 0, "nobody else has it")
        try await phone.sync()
        try await phone.store.assets.pin(image)
        #expect(try await phone.store.assets.evict(downTo: 0).files == 0, "it is pinned")
        try await phone.store.assets.unpin(image)
        let evicted = try await phone.store.assets.evict(downTo: 0)
        #expect(evicted.files == 1 && evicted.bytes == 7)
        #expect(try !phone.store.assets.isHere(image))
        #expect(try await text(image, on: phone) == "picture")
    }

    @Test func `what a pending edit needs is not evicted`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        try await phone.save(Photo(id: "p", title: "x", image: image))
        try await phone.sync()
        try await phone.save(Photo(id: "q", title: "y", image: image))
        #expect(try await phone.store.assets.evict(downTo: 0).files == 0)
    }

    @Test func `what a record with edits holds beside them is not evicted`() async throws {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        let image = try await add("picture", to: phone)
        for name in ["p", "q"] {
            try await phone.save(Photo(id: Photo.ID(name), title: "x", image: image))
        }
        try await phone.sync()
        // The edit does not name the file, and may have to be pushed with it all the same.
        try await phone.save(Photo(id: "q", title: "edited", image: image))
        #expect(try await phone.store.assets.evict(downTo: 0).files == 0)
        try await phone.sync()
        #expect(try await phone.store.assets.evict(downTo: 0).files == 1)
    }

    @Test func `a started engine uploads by itself, and downloads what the rule names`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud) { $0.syncOnSave = true }
        let (small, large) = (
            try await add("small", to: phone), try await add("much larger", to: phone)
        )
        try await phone.engine.start()
        try await phone.save(Photo(id: "p", title: "x", image: small, more: [large]))
        try await phone.engine.sync()
        try await phone.expectSettled()
        await phone.engine.stop()
        let laptop = try device("laptop", cloud) {
            $0.assetDownloads = .matching { entity, field, bytes in
                entity == "Photo" && field == "image" && bytes < 6
            }
        }
        let events = laptop.engine.events
        try await laptop.engine.start()
        for await event in events {
            if case .transferring(let file, _, isUpload: false) = event {
                #expect(file.byteCount == 5)
                break
            }
        }
        let pulled = try photo("p", on: laptop)
        #expect(try await text(pulled.image, on: laptop) == "small")
        #expect(try !laptop.store.assets.isHere(pulled.more[0]))
        await laptop.engine.stop()
    }

    @Test func `an engine that is stopped while it looks for a file asks for no other record`()
        async throws
    {
        let cloud = SimulatedCloud()
        let (phone, laptop) = (try device("phone", cloud), try device("laptop", cloud))
        let file = try await add("picture", to: phone)
        for name in ["p", "q"] {
            try await phone.save(Photo(id: Photo.ID(name), title: "x", image: file))
        }
        try await phone.sync()
        try await laptop.sync()
        // Whichever is asked for first does not have it any more.
        for name in ["p", "q"] {
            try cloud.write(name, type: "Photo", fields: ["image": .null], in: scenarioZone)
        }
        let before = cloud.requestCounts[.lookup] ?? 0
        laptop.service.beforeReply = { [engine = laptop.engine] info throws(ServiceError) in
            if info.kind == .lookup { await engine.stop() }
        }
        await #expect(throws: SyncError.self) { try await laptop.engine.downloadFiles() }
        await laptop.engine.untilEnded()
        #expect(cloud.requestCounts[.lookup] == before + 1)
    }

    @Test func `a file that a deleted record held goes from the devices and the service`()
        async throws
    {
        let cloud = SimulatedCloud()
        let phone = try device("phone", cloud)
        try await phone.save(
            Photo(id: "p", title: "x", image: try await add("picture", to: phone)))
        try await phone.sync()
        try await phone.delete(Photo.ID("p"))
        try await phone.sync()
        try await phone.store.compact(.keepUnsyncedOnly)
        #expect(try await phone.store.assets.collect(addedBefore: .distantFuture).files == 1)
        cloud.collectFiles()
        #expect(cloud.fileCount == 0 && phone.store.assets.usage().files == 0)
        try await phone.expectSettled()
    }
}

/// Runs something once.
private final class OnceHook: Sendable {
    private let action: @Sendable () -> Void
    private let isDone = NSLock()

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    func run() { if isDone.try() { action() } }
}
