import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync

@Entity private struct Photo: Equatable {
    var id = ID()
    var title: String
    var image: Asset?
}

/// Files of records of a zone beside the store's own, most of which have the name of an own record.
@Suite(.budgeted) struct OtherZoneFilesTests {
    /// What ends a receipt.
    private enum End: CaseIterable {
        case acknowledged, refusedByService, refusalTold
    }

    private let cloud = SimulatedCloud()
    private let folder: TemporaryFolder
    private let schema = StoreSchema(Photo.self)

    init() throws { folder = try TemporaryFolder() }

    // MARK: Helpers

    private func device(_ name: String = "phone") throws -> Device {
        Device(store: try folder.store(name, schema), service: cloud.connection(device: name))
    }

    /// Gives a device a zone of another user that only the owner and the slot tell from its own.
    private func addSharedZone(to device: Device) async throws -> ZonePlace {
        let zone = ZoneID(scenarioZone.zoneName, ownerName: "ada")
        let slot = try await device.store.withLogWriter {
            $0.catalogChanges.addZone(
                named: zone.zoneName, owner: zone.ownerName, in: .shared)
        }
        #expect(slot == Device.list)
        return ZonePlace(slot: Device.list, id: zone, database: .shared)
    }

    /// The service of the other user's zones.
    private func sharedService() -> NotingService {
        NotingService(cloud.connection(user: "ada", device: "shared"), scope: .shared)
    }

    private func queue(_ device: Device, _ service: NotingService) -> TransferQueue {
        TransferQueue(device.engine.scope, service)
    }

    private func add(_ text: String, to device: Device) async throws -> Asset {
        try await device.store.assets.add { try $0.write(Array(text.utf8)) }
    }

    private func text(_ asset: Asset, on device: Device) async throws -> String {
        let reader = try await device.store.assets.open(asset)
        return String(
            decoding: try reader.read(at: 0, count: Int(reader.byteCount)), as: UTF8.self)
    }

    private static func id(_ name: String, in slot: UInt8) -> Photo.ID {
        Photo.ID(key: RecordKey(RecordName(name), zone: slot))
    }

    /// The file of the photo `p` of a zone.
    private func image(in slot: UInt8, on device: Device) throws -> Asset {
        try #require(try device.find(Self.id("p", in: slot))?.image)
    }

    private static func upload(of image: Asset, in place: ZonePlace) -> AssetUpload {
        let field = AssetField(recordName: "p", recordType: "Photo", fieldName: "image")
        return AssetUpload(asset: image, field: field, place: place)
    }

    /// A device with a photo `p` of the same content in each of its two zones, both of them new.
    private func withTwo() async throws -> (Device, [ZonePlace], Asset) {
        let phone = try device()
        let places = [phone.engine.scope.own, try await addSharedZone(to: phone)]
        let image = try await add("picture", to: phone)
        for place in places {
            try await phone.save(
                Photo(id: Self.id("p", in: place.slot), title: "new", image: image))
        }
        return (phone, places, image)
    }

    /// The photo `p` with a file, as another device brings it to a zone of a user.
    private func stored(
        _ text: String, in zone: String, of user: String = "user"
    ) async throws -> NamedFields {
        let laptop = Device(
            store: try folder.store("laptop", schema),
            service: cloud.connection(user: user, device: "laptop")
        ) { $0.zoneName = zone }
        try await laptop.save(
            Photo(id: "p", title: "theirs", image: try await add(text, to: laptop)))
        try await laptop.sync()
        return try #require(cloud.record(named: "p", in: ZoneID(zone), user: user)).fields
    }

    /// How it stands with the upload of a file for the photo `p` of a zone.
    private func standing(
        of image: Asset, in place: ZonePlace, on device: Device
    ) throws -> String {
        try device.store.read { transaction in
            let value = try ReceiptReader(transaction.reader, place, now: 0).value(
                .asset(image), recordName: "p", recordType: "Photo", fieldName: "image")
            switch value {
            case .ready?: return "uploaded"
            case .waits?: return "waits"
            case .refused?: return "refused"
            case nil: return "no file"
            }
        }
    }

    // MARK: Uploads

    @Test func `a content for records of one name in two zones is uploaded for each`() async throws
    {
        let (phone, places, image) = try await withTwo()
        let uploads = places.map { Self.upload(of: image, in: $0) }
        let report = RoundReport()
        report.noteWaiting(
            uploads, records: Set(places.map { RecordKey(RecordName("p"), zone: $0.slot) }))
        #expect(report.value.uploads == uploads && report.value.recordsWaitingForFiles == 2)

        let shared = sharedService()
        let service = NotingService(phone.service, shared: shared)
        let queue = queue(phone, service)
        await queue.begin(uploads)
        await queue.untilEnded()
        #expect(service.calls == ["upload p, notes"])
        #expect(shared.calls == ["upload p, notes of ada"])
        for place in places {
            #expect(try standing(of: image, in: place, on: phone) == "uploaded")
        }
    }

    @Test func `a receipt for another zone is neither sent for an own record nor used up with it`()
        async throws
    {
        let (phone, places, image) = try await withTwo()
        let shared = sharedService()
        let queue = queue(phone, NotingService(phone.service, shared: shared))
        await queue.begin([Self.upload(of: image, in: places[1])])
        await queue.untilEnded()
        #expect(cloud.uploadedFileBytes == 7 && shared.calls.count == 1)
        #expect(try standing(of: image, in: places[0], on: phone) == "waits")

        let report = try await phone.sync()
        #expect(report.pushedRecords == 1 && cloud.uploadedFileBytes == 14)
        #expect(try standing(of: image, in: places[0], on: phone) == "waits", "it is used up")
        #expect(try standing(of: image, in: places[1], on: phone) == "uploaded")
    }

    @Test(arguments: End.allCases, [0, 1])
    private func `a receipt ends with its own record alone`(end: End, index: Int) async throws {
        let (phone, places, image) = try await withTwo()
        let change = try phone.store.read { transaction in
            let folder = OutboxFolder(transaction.reader, zone: places[index].slot)
            return try #require(try folder.fold(recordsMax: 10).changes.first)
        }
        let zone = scenarioZone.zoneName
        let file = ServiceAsset(
            fileChecksum: image.content, size: image.byteCount, receipt: "receipt")
        let receipt =
            end == .refusalTold
            ? AssetReceipt(failure: "too large", zone: zone)
            : AssetReceipt(file, zone: zone, until: .max)
        try await phone.store.withLogWriter { log in
            let writer = ReceiptWriter(log)
            for place in places {
                try writer.keep(receipt, of: Self.upload(of: image, in: place))
            }
            switch end {
            case .acknowledged: try writer.useUp(change, without: [])
            case .refusedByService: _ = try writer.drop(change, without: [], zone: zone)
            case .refusalTold: try writer.forgetRefusals(change)
            }
        }
        let kept = end == .refusalTold ? "refused" : "uploaded"
        #expect(try standing(of: image, in: places[index], on: phone) == "waits")
        #expect(try standing(of: image, in: places[1 - index], on: phone) == kept)
    }

    @Test func `an upload goes on where one for the same zone stopped`() async throws {
        let (phone, places, image) = try await withTwo()
        let uploads = places.map { Self.upload(of: image, in: $0) }
        try await phone.store.withLogWriter { log in
            for (upload, address) in zip(uploads, ["here", "there"]) {
                try ReceiptWriter(log).keep(address: address, until: .max, of: upload)
            }
        }
        let shared = sharedService()
        let service = NotingService(phone.service, shared: shared)
        let queue = queue(phone, service)
        // One after the other: the end of an upload forgets its own address alone.
        for upload in uploads {
            await queue.begin([upload])
            await queue.untilEnded()
        }
        #expect(service.calls == ["upload p from here, notes"])
        #expect(shared.calls == ["upload p from there, notes of ada"])
    }

    @Test func `receipts and addresses that ended long ago are removed for all zones`()
        async throws
    {
        let (phone, places, image) = try await withTwo()
        try await phone.store.withLogWriter { log in
            let writer = ReceiptWriter(log)
            for upload in places.map({ Self.upload(of: image, in: $0) }) {
                let file = ServiceAsset(fileChecksum: image.content, receipt: "receipt")
                try writer.keep(
                    AssetReceipt(file, zone: scenarioZone.zoneName, until: 1), of: upload)
                try writer.keep(address: "here", until: 1, of: upload)
            }
        }
        func names() throws -> [String] {
            try phone.store.read { transaction in
                var names: [String] = []
                for prefix in ["receipt", "address"] {
                    try transaction.reader.meta.visit(prefix) { name, _ in
                        names.append(prefix + name)
                        return true
                    }
                }
                return names
            }
        }
        #expect(try names().count == 4)
        try await phone.store.assets.collect(addedBefore: .distantPast)
        #expect(try names() == [])
    }

    @Test(arguments: [UInt8(0), Device.list])
    func
        `an upload takes the file of a record of its own zone, and of no other`(
            slot: UInt8
        ) async throws
    {
        let phone = try device()
        let list = try await addSharedZone(to: phone)
        let (same, other) =
            slot == 0 ? (phone.engine.scope.own, list) : (list, phone.engine.scope.own)
        let image = try await add("picture", to: phone)
        let file = ServiceAsset(fileChecksum: image.content, size: image.byteCount)
        try await phone.pull(
            "x", "Photo", ["title": .string("x"), "image": .asset(file)], slot: slot)
        let shared = sharedService()
        let service = NotingService(phone.service, shared: shared)
        let queue = queue(phone, service)
        await queue.begin([Self.upload(of: image, in: other)])
        await queue.untilEnded()
        let calls = { (service.calls + shared.calls).map { String($0.prefix { $0 != "," }) } }
        #expect(calls() == ["upload p"])
        await queue.begin([Self.upload(of: image, in: same)])
        await queue.untilEnded()
        let asked = slot == 0 ? service.calls : shared.calls
        let zone = slot == 0 ? "notes" : "notes of ada"
        #expect(asked == ["rereference x, \(zone)", "upload p, \(zone)"])
        #expect(calls().count == 3)
    }

    // MARK: Downloads

    @Test func `a file of a record of another zone is downloaded from there`() async throws {
        let fields = try await stored("theirs", in: "list")
        let phone = try device()
        try await phone.save(
            Photo(id: "p", title: "mine", image: try await add("mine", to: phone)))
        try await phone.sync()
        try await phone.addZone()
        try await phone.pull("p", "Photo", fields)
        let image = try image(in: Device.list, on: phone)
        #expect(try !phone.store.assets.isHere(image))
        #expect(try await text(image, on: phone) == "theirs")
    }

    @Test func `a file is downloaded from the database that the zone of its record is in`()
        async throws
    {
        let fields = try await stored("hers", in: scenarioZone.zoneName, of: "ada")
        let phone = try device()
        try await phone.save(
            Photo(id: "p", title: "mine", image: try await add("mine", to: phone)))
        try await phone.sync()
        _ = try await addSharedZone(to: phone)
        try await phone.pull("p", "Photo", fields)
        let image = try image(in: Device.list, on: phone)
        let shared = sharedService()
        let service = NotingService(phone.service, shared: shared)
        try await queue(phone, service).provide(image)
        #expect(service.calls == [])
        #expect(shared.calls == ["look up p, notes of ada"])
        #expect(try await text(image, on: phone) == "hers")
    }

    @Test(arguments: [DatabaseScope.private, .shared])
    func `a zone that can't be asked keeps no other one from giving a file`(
        database: DatabaseScope
    ) async throws {
        let fields = try await stored("picture", in: scenarioZone.zoneName)
        let phone = try device()
        // The service has no such zone, or no such database.
        if database == .private {
            try await phone.addZone()
        } else {
            _ = try await addSharedZone(to: phone)
        }
        try await phone.pull("p", "Photo", fields)
        let image = try image(in: Device.list, on: phone)
        let queue = queue(phone, NotingService(phone.service))
        let error = await #expect(throws: ServiceError.self) { try await queue.provide(image) }
        #expect(error?.code == (database == .private ? .zoneNotFound : .unsupported))

        try await phone.sync()
        try await queue.provide(image)
        #expect(try await text(image, on: phone) == "picture")
    }

    // MARK: Waiting

    /// In one zone the photo `p` is to lose a file that only the service has, and in the other one a new
    /// photo `q` is to get it. Each zone has a new photo of the other name, too, which needs no file.
    @Test(arguments: [UInt8(0), Device.list])
    func `a record that waits for a file does not hold back one of its name in another zone`(
        source: UInt8
    ) async throws {
        let phone = try device()
        try await phone.addZone()
        let other = source == 0 ? Device.list : 0
        let file = ServiceAsset(fileChecksum: String(repeating: "ab", count: 32), size: 7)
        try await phone.pull(
            "p", "Photo", ["title": .string("x"), "image": .asset(file)], slot: source)
        let image = try image(in: source, on: phone)
        try await phone.save(Photo(id: Self.id("p", in: source), title: "x"))
        try await phone.save(Photo(id: Self.id("q", in: source), title: "new"))
        try await phone.save(Photo(id: Self.id("p", in: other), title: "new"))
        try await phone.save(Photo(id: Self.id("q", in: other), title: "new", image: image))

        let scope = phone.engine.scope
        let session = SyncSession(scope, phone.service)
        let report = RoundReport()
        var pushed: [[String]] = []
        var waiting: [Int] = []
        for slot in [other, source] {
            let place = try phone.store.read { scope.place(of: slot, $0.reader.catalog) }
            let exchange = ZoneExchange(session, try #require(place), report)
            let event = try await PushExecutor(exchange, SyncMachine()).fold(continues: false)
            if case .folded(let items, _) = event {
                pushed.append(items.map(\.modification.recordName))
            }
            waiting.append(report.value.recordsWaitingForFiles)
        }
        #expect(pushed == [["p"], ["q"]])
        // The source waits as well: without its file the other zone's photo could not be uploaded.
        #expect(waiting == [1, 2])
        #expect(report.value.uploads.map(\.place.slot) == [other])
    }
}
