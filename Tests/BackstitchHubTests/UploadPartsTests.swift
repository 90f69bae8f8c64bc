import BackstitchCore
import CFaults
import CloudKitWire
import CrashStates
import Foundation
import TestBudget
import Testing
import Threading
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Suite("Uploads that come in parts", .budgeted)
struct UploadPartsTests {
    private static let content: [UInt8] = Array("0123456789".utf8)

    private let fixture: HubFixture

    init() async throws {
        fixture = try await HubFixture()
        try await fixture.makeZones("z")
    }

    /// The path of a new address.
    private func address(_ record: String = "a") async throws -> String {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: record, fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        return HostileWorld.path(try #require(uploads.tokens.first).url)
    }

    private func patch(
        _ path: String, _ bytes: some Sequence<UInt8>, at offset: String, of length: String = "10"
    ) async -> HubResponse {
        await fixture.hub.respond(
            to: HubRequest(
                method: "PATCH", target: path,
                headers: [
                    HubRequest.Header("Upload-Offset", offset),
                    HubRequest.Header("Upload-Length", length),
                ], body: Array(bytes)))
    }

    private func offset(_ path: String) async -> String? {
        let response = await fixture.hub.respond(to: HubRequest(method: "HEAD", target: path))
        guard response.status == 200 else { return "\(response.status)" }
        return Self.offset(response)
    }

    private static func offset(_ response: HubResponse) -> String? {
        response.headers.first { $0.isNamed("Upload-Offset") }?.value
    }

    private func file(_ response: HubResponse) throws -> ServiceAsset {
        guard case .bytes(let body) = response.body else { return ServiceAsset() }
        return try UploadedFileResponse(body: body).file
    }

    @Test("parts make a file, whose receipt a record is saved with")
    func whole() async throws {
        let path = try await address()
        #expect(await offset(path) == "0")
        let first = await patch(path, Self.content[..<4], at: "0")
        #expect(first.status == 200 && Self.offset(first) == "4")
        #expect(await offset(path) == "4")
        let last = await patch(path, Self.content[4...], at: "4")
        let asset = try file(last)
        #expect(asset.fileChecksum == Digest.sha256(Self.content).hexadecimal)
        #expect(asset.size == 10)
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["f": .asset(asset)])))
        #expect(saved.first?.code == nil)
        // Nothing of the parts is left.
        let names = try FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.path + "/parts")
        #expect(names == [])
    }

    @Test("an upload in parts counts once, and no more when its record is saved")
    func counted() async throws {
        var limits = HubLimits()
        limits.uploadsPerUser = 2
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        for number in 0..<4 {
            let name = "r\(number % 2)"
            let places = UploadRequest(
                places: [WireAssetPlace(recordName: name, fieldName: "f")],
                zoneID: WireZoneID("z"))
            let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
            let content = [UInt8](repeating: UInt8(number), count: 4_000)
            let response = await fixture.hub.respond(
                to: HubRequest(
                    method: "PATCH",
                    target: HostileWorld.path(try #require(uploads.tokens.first).url),
                    headers: [
                        HubRequest.Header("Upload-Offset", "0"),
                        HubRequest.Header("Upload-Length", "4000"),
                    ], body: content))
            let asset = try file(response)
            let saved = try await fixture.modify(
                .init(.forceReplace, HubFixture.record(name, ["f": .asset(asset)])))
            #expect(saved.first?.code == nil)
        }
    }

    @Test("the answer to the last part is told again, and the file is there once")
    func lostReply() async throws {
        let path = try await address()
        let first = try file(await patch(path, Self.content, at: "0"))
        #expect(await offset(path) == "10")
        let again = try file(await patch(path, [], at: "10"))
        #expect(again == first && first.receipt != nil)
    }

    @Test("a part that does not follow is answered with where the next one begins")
    func gap() async throws {
        let path = try await address()
        _ = await patch(path, Self.content[..<4], at: "0")
        let gap = await patch(path, Self.content[6...], at: "6")
        #expect(gap.status == 409 && Self.offset(gap) == "4")
        // One that came before changes nothing, and another one goes on from its own offset.
        let repeated = await patch(path, Self.content[..<4], at: "0")
        #expect(repeated.status == 200 && Self.offset(repeated) == "4")
        let other = await patch(path, Self.content[2..<8], at: "2")
        #expect(Self.offset(other) == "8")
        #expect(try file(await patch(path, Self.content[8...], at: "8")).size == 10)
    }

    @Test(
        "a part that says what can't be is refused, and changes nothing",
        arguments: [("x", "10"), ("-1", "10"), ("0", "5"), ("11", "10"), ("0", "")])
    func wrong(offset: String, length: String) async throws {
        let path = try await address()
        #expect(await patch(path, Self.content, at: offset, of: length).status == 400)
        #expect(await self.offset(path) == "0")
    }

    @Test("an address that ended, or never was, takes no part and tells nothing")
    func ended() async throws {
        let path = try await address()
        _ = await patch(path, Self.content[..<4], at: "0")
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        #expect(await patch(path, Self.content[4...], at: "4").status == 404)
        #expect(await offset(path) == "404")
        #expect(await offset("/upload/1/00-00") == "404")
        // What came goes with the address.
        _ = try await fixture.modify(.init(.forceUpdate, HubFixture.record("other")))
        let names = try FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.path + "/parts")
        #expect(names == [])
    }

    @Test("an address that had a file in one piece takes no parts")
    func used() async throws {
        let path = try await address()
        _ = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: path, body: Self.content))
        #expect(await patch(path, Self.content, at: "0").status == 404)
        let parts = try await address("b")
        _ = await patch(parts, Self.content, at: "0")
        let second = await fixture.hub.respond(
            to: HubRequest(method: "POST", target: parts, body: Self.content))
        #expect(second.status == 404)
    }

    @Test("a file that is larger than allowed is refused with its first part")
    func large() async throws {
        var limits = HubLimits()
        limits.assetBytes = 9
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: "a", fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        let path = HostileWorld.path(try #require(uploads.tokens.first).url)
        let response = await fixture.hub.respond(
            to: HubRequest(
                method: "PATCH", target: path,
                headers: [
                    HubRequest.Header("Upload-Offset", "0"),
                    HubRequest.Header("Upload-Length", "10"),
                ], body: Array(Self.content[..<4])))
        #expect(response.status == 413)
    }

    @Test("the space of an upload in parts is taken once, and given back with its address")
    func space() async throws {
        let path = try await address()
        _ = await patch(path, Self.content[..<4], at: "0")
        _ = await patch(path, Self.content[4..<6], at: "4")
        let partition = try fixture.partition(of: fixture.ada)
        #expect(fixture.hub.files.uploads.bytes(of: partition) == 10)
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        _ = try await address("b")
        #expect(fixture.hub.files.uploads.bytes(of: partition) == 0)
    }

    @Test("the parts of one file count once against the space of a database")
    func quota() async throws {
        var limits = HubLimits()
        limits.privateDatabaseBytes = 10_000
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: "a", fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        let path = HostileWorld.path(try #require(uploads.tokens.first).url)
        let bytes = [UInt8](repeating: 7, count: 6_000)
        for start in stride(from: 0, to: 6_000, by: 1_000) {
            let response = await fixture.hub.respond(
                to: HubRequest(
                    method: "PATCH", target: path,
                    headers: [
                        HubRequest.Header("Upload-Offset", "\(start)"),
                        HubRequest.Header("Upload-Length", "6000"),
                    ], body: Array(bytes[start..<start + 1_000])))
            #expect(response.status == 200, "at \(start)")
        }
    }

    @Test("a part is written in pieces of 256 KiB, and is whole", .exclusiveFaults)
    func pieces() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/pieces-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = try FolderFiles(folder: folder)
        let path = files.partsPath([1])
        let part = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 8) }
        let (_, _, calls) = await FaultedCalls.run(in: folder, from: .max >> 33, times: 0, EIO) {
            #expect(throws: Never.self) { try files.append(part, to: path, at: 0) }
        }
        #expect(calls.count { $0.hasPrefix("write ") } == 4, "\(calls)")
        #expect(try Array(Data(contentsOf: URL(filePath: path))) == part)
    }

    @Test(
        "a body has room for little more than came of it, and is seldom copied",
        arguments: [8 << 20, nil])
    func room(length: Int?) {
        let part = [UInt8](repeating: 1, count: 16 << 10)
        var receiver = BodyReceiver(.memory(bytesMax: 8 << 20), length: length)
        var rooms: Set<Int> = []
        for count in 1...512 {
            part.withUnsafeBytes { receiver.receive($0) }
            let room = receiver.bytes.capacity
            rooms.insert(room)
            // The allocator rounds up.
            #expect(room <= max(64 << 10, 8 * count * part.count) + 4_096)
        }
        #expect(length == nil || rooms.count <= 4)
        #expect(receiver.bytes.count == 8 << 20)
    }

    @Test(
        "a part that the disk does not take is cut off again, and no receipt tells of it",
        .exclusiveFaults)
    func flushFails() async throws {
        let path = try await address()
        // A part that is there already is not written again, and waits until the disk has it.
        for _ in 0..<2 { _ = await patch(path, Self.content[..<4], at: "0") }
        let folder = fixture.folder.path + "/parts/"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder).first)
        var status = stat()
        try #require(stat(folder + name, &status) == 0)
        func failNextSync() {
            CFaultsArm(status.st_dev, status.st_ino, CFaultsSync, 0, 1, EIO)
        }
        // It is answered before the disk has it, and the next one waits for that.
        failNextSync()
        #expect(Self.offset(await patch(path, Self.content[4..<8], at: "4")) == "8")
        let gap = await patch(path, Self.content[8...], at: "8")
        #expect(CFaultsDisarm() == 1)
        #expect(gap.status == 409 && Self.offset(gap) == "4")
        #expect(await offset(path) == "4")
        failNextSync()
        let last = await patch(path, Self.content[4...], at: "4")
        #expect(CFaultsDisarm() == 1)
        #expect(last.status == 409 && Self.offset(last) == "4", "it has no receipt")
        #expect(await offset(path) == "4")
        let asset = try file(await patch(path, Self.content[4...], at: "4"))
        #expect(asset.fileChecksum == Digest.sha256(Self.content).hexadecimal)
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["f": .asset(asset)])))
        #expect(saved.first?.code == nil)
    }

    // MARK: The client

    @Test("a part of a file is read to its end, and again from where libcurl asks for it")
    func readsAgain() throws {
        let path = FileManager.default.temporaryDirectory.path + "/part-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(Self.content).write(to: URL(filePath: path))
        let told = Locked<Int64>(0)
        let transfer = FileTransfer(
            HTTPFile(path: path, role: .body(2..<7)) { bytes in told.withLock { $0 = bytes } })
        func read(_ count: Int) -> String {
            var bytes = [CChar](repeating: 0, count: count)
            let got = bytes.withUnsafeMutableBufferPointer {
                transfer.read(into: $0.baseAddress, count)
            }
            return String(decoding: bytes.prefix(got).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        #expect(read(3) == "234" && told.withLock { $0 } == 3)
        #expect(read(100) == "56" && read(100) == "")
        #expect(transfer.seek(to: 1) == 0 && read(2) == "34")
        #expect(transfer.seek(to: 6) != 0 && transfer.seek(to: -1) != 0)
        #expect(transfer.seek(to: 0) == 0 && read(100) == "23456")
    }

    @Test("parts of every size arrive as they are, also none")
    func sizes() async throws {
        let server = try HubServer(fixture.hub)
        var configuration = fixture.configuration(at: server.url)
        configuration.uploadPartBytes = 1_000
        let service = try CloudKitRecordService(configuration, client: try CurlClient())
        let path = FileManager.default.temporaryDirectory.path + "/sizes-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let zone = ZoneID("z")
        for count in [0, 1, 999, 1_000, 1_001, 2_500] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try Data(bytes).write(to: URL(filePath: path))
            let field = AssetField(recordName: "r\(count)", recordType: "T", fieldName: "f")
            let before = service.sentFileBytes
            let asset = try await service.upload(
                path, for: field, in: zone, from: nil, began: { _ in }, progress: { _ in })
            #expect(asset.fileChecksum == Digest.sha256(bytes).hexadecimal, "\(count)")
            #expect(service.sentFileBytes - before == Int64(count))
        }
        await server.stop()
    }

    @Test("the client uploads and downloads over HTTP, and goes on after a cut")
    func client() async throws {
        let server = try HubServer(fixture.hub)
        var configuration = fixture.configuration(at: server.url)
        configuration.uploadPartBytes = 1_000
        let client = CuttingClient(try CurlClient())
        let service = try CloudKitRecordService(configuration, client: client)
        let bytes = (0..<4_500).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let folder = FileManager.default.temporaryDirectory.path + "/parts-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(bytes).write(to: URL(filePath: folder + "/in"))
        let field = AssetField(recordName: "r", recordType: "T", fieldName: "f")
        let zone = ZoneID("z")
        client.partsLeft.withLock { $0 = 2 }
        let error = await #expect(throws: ServiceError.self) {
            _ = try await service.upload(
                folder + "/in", for: field, in: zone, from: nil, began: { _ in }, progress: { _ in }
            )
        }
        #expect(error?.code == .network)
        client.partsLeft.withLock { $0 = .max }
        let told = Locked<Int64>(0)
        let asset = try await service.upload(
            folder + "/in", for: field, in: zone, from: nil, began: { _ in },
            progress: { bytes in told.withLock { $0 = bytes } })
        #expect(told.withLock { $0 } == 4_500)
        #expect(asset.fileChecksum == Digest.sha256(bytes).hexadecimal)
        #expect(service.resumedUploads == 1 && service.sentFileBytes == 4_500)
        let results = try await service.modifyRecords(
            [.create(recordName: "r", recordType: "T", fields: ["f": .asset(asset)])], in: zone,
            atomic: false)
        guard case .saved? = results.first else {
            Issue.record("\(results)")
            return
        }
        guard case .found(let record)? = try await service.lookUpRecords(["r"], in: zone).first,
            case .asset(let found)? = record.fields["f"]
        else {
            Issue.record("The record is not found.")
            return
        }
        // The beginning is here already.
        try Data(bytes[..<1_234]).write(to: URL(filePath: folder + "/out"))
        try await service.download(found, to: folder + "/out") { _ in }
        #expect(try Array(Data(contentsOf: URL(filePath: folder + "/out"))) == bytes)
        // What is here is of another file, and longer.
        try Data(repeating: 1, count: 9_000).write(to: URL(filePath: folder + "/out"))
        await #expect(throws: ServiceError.self) {
            try await service.download(found, to: folder + "/out") { _ in }
        }
        try await service.download(found, to: folder + "/out") { _ in }
        #expect(try Array(Data(contentsOf: URL(filePath: folder + "/out"))) == bytes)
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        try FileManager.default.removeItem(atPath: folder + "/out")
        let late = await #expect(throws: ServiceError.self) {
            try await service.download(found, to: folder + "/out") { _ in }
        }
        #expect(late?.code == .permissionDenied)
        await server.stop()
    }

    @Test("another process goes on with an upload, and another record gets the file without one")
    func anotherProcess() async throws {
        let server = try HubServer(fixture.hub)
        var configuration = fixture.configuration(at: server.url)
        configuration.uploadPartBytes = 1_000
        let path = FileManager.default.temporaryDirectory.path + "/again-" + UUID().uuidString
        let bytes = (0..<4_500).map { UInt8(truncatingIfNeeded: $0 &* 17) }
        try Data(bytes).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let field = AssetField(recordName: "r", recordType: "T", fieldName: "f")
        let zone = ZoneID("z")
        let cutting = CuttingClient(try CurlClient())
        cutting.partsLeft.withLock { $0 = 2 }
        let first = try CloudKitRecordService(configuration, client: cutting)
        let address = Locked<String?>(nil)
        await #expect(throws: ServiceError.self) {
            _ = try await first.upload(
                path, for: field, in: zone, from: nil,
                began: { told in address.withLock { $0 = told } }, progress: { _ in })
        }
        let kept = try #require(address.withLock { $0 })
        let second = try CloudKitRecordService(configuration, client: try CurlClient())
        let asset = try await second.upload(
            path, for: field, in: zone, from: kept, began: { _ in }, progress: { _ in })
        #expect(second.resumedUploads == 1 && second.sentFileBytes == 2_500)
        #expect(asset.fileChecksum == Digest.sha256(bytes).hexadecimal)
        func create(_ name: String, _ asset: ServiceAsset) async throws -> Bool {
            let results = try await second.modifyRecords(
                [.create(recordName: name, recordType: "T", fields: ["f": .asset(asset)])],
                in: zone, atomic: false)
            if case .saved? = results.first { return true }
            return false
        }
        #expect(try await create("r", asset))
        let again = try #require(try await second.rereference(field, in: zone))
        #expect(try await create("other", again) && second.sentFileBytes == 2_500)
        let none = AssetField(recordName: "none", recordType: "T", fieldName: "f")
        #expect(try await second.rereference(none, in: zone) == nil)
        // One that ended does no harm.
        fixture.advance(milliseconds: HubLimits().addressMilliseconds)
        let third = try CloudKitRecordService(configuration, client: try CurlClient())
        _ = try await third.upload(
            path, for: none, in: zone, from: kept, began: { _ in }, progress: { _ in })
        #expect(third.resumedUploads == 0 && third.sentFileBytes == 4_500)
        await server.stop()
    }

    @Test("a service that takes no parts gets the file in one piece")
    func onePiece() async throws {
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(
            fixture.configuration(at: server.url),
            client: PlainClient(try CurlClient()))
        let path = FileManager.default.temporaryDirectory.path + "/piece-" + UUID().uuidString
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        try Data(bytes).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let field = AssetField(recordName: "r", recordType: "T", fieldName: "f")
        let asset = try await service.upload(
            path, for: field, in: ZoneID("z"), from: nil, began: { _ in }, progress: { _ in })
        #expect(asset.fileChecksum == Digest.sha256(bytes).hexadecimal && asset.size == 300_000)
        #expect(service.sentFileBytes == 300_000 && service.resumedUploads == 0)
        await server.stop()
    }
}

/// Lets some parts of uploads through, and then no more.
private final class CuttingClient: HTTPClient {
    private let client: any HTTPClient
    let partsLeft = Locked(Int.max)

    init(_ client: any HTTPClient) { self.client = client }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        if request.method == "PATCH" {
            let isCut = partsLeft.withLock { left in
                guard left > 0 else { return true }
                left -= 1
                return false
            }
            if isCut { throw HTTPFailure(message: "cut") }
        }
        return try await client.send(request)
    }
}

/// Hides what a hub does beyond CloudKit.
private struct PlainClient: HTTPClient {
    let client: any HTTPClient

    init(_ client: any HTTPClient) { self.client = client }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        var reply = try await client.send(request)
        reply.headers[WireHeader.extensions.lowercased()] = nil
        return reply
    }
}
