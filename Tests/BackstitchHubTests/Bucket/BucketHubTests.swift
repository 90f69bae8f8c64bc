import BackstitchCore
import CloudKitWire
import Foundation
import RawConnection
import TestBudget
import Testing
import Threading
import Waiting
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubBucket
@testable import BackstitchHubCore

/// A hub whose files are in a bucket, from the upload to the end of a file.
@Suite("A hub with a bucket", .budgeted, .serialized) struct BucketHubTests {
    private static let content = HubFixture.content
    private static let day: Int64 = 24 * 3_600 * 1_000

    private let server: BucketServer
    private let fixture: HubFixture

    init() async throws {
        server = try BucketServer()
        fixture = try await HubFixture(store: HubFileStore(server.bucket()))
        try await fixture.makeZones("z")
    }

    // MARK: Steps

    /// Writes until as many objects and rows of objects are left, each within its time.
    private func settle(objects: Int, rows: Int) async throws {
        var turns = 0
        // Objects are removed some time after a write. Each write replaces the one before.
        try await eventually {
            try await fixture.write()
            if server.objects.count == objects, try self.rows(.object) == rows { return true }
            if turns < 40 { fixture.advance(milliseconds: Expiry.objectRetryMilliseconds) }
            turns += 1
            return false
        }
    }

    private func rows(_ table: HubKey.Table) throws -> Int {
        try fixture.hub.storage.readHere { try $0.count(table) }
    }

    // MARK: Life of a file

    @Test func `a file goes to the bucket, comes from it, and goes when nothing needs it`()
        async throws
    {
        try await fixture.create("a", fixture.upload())
        let name = try #require(server.objects.keys.first)
        let partition = try fixture.partition(of: fixture.ada)
        let checksum = Digest.sha256(Self.content).hexadecimal
        #expect(name.hasPrefix("hub/\(partition.text)/\(checksum)-"))
        #expect(server.objects == [name: Self.content])
        // Nothing of it stays in the folder.
        let incoming = try FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.path + "/incoming")
        #expect(incoming == [])
        let path = try await fixture.download("a")
        #expect(await fixture.get(path).body == .bytes(Self.content))
        let part = await fixture.get(path, range: "bytes=3-4")
        #expect(part.status == 206 && part.body == .bytes(Array("te".utf8)))
        #expect(part.headers.contains { $0.value == "bytes 3-4/7" })
        #expect(await fixture.get(path, range: "bytes=7-").status == 416)
        #expect(fixture.hub.assets.objects?.pool.uncountedCount == 0)

        fixture.advance(milliseconds: Self.day)
        try await fixture.write()
        #expect(server.objects.count == 1)
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "a")))
        try await fixture.write()
        #expect(server.objects.count == 1)
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 0, rows: 0)
        #expect(try rows(.asset) == 0)
        #expect(try fixture.wrongSpace() == [])
    }

    @Test func `a content that comes again is in the bucket once more, and then once`()
        async throws
    {
        try await fixture.create("a", fixture.upload("a"))
        let first = try #require(server.objects.keys.first)
        // What was there is damaged; whoever has the file heals it.
        server.objects[first] = Array("damaged".utf8)
        try await fixture.create("b", fixture.upload("b"))
        #expect(await fixture.get(try await fixture.download("a")).body == .bytes(Self.content))
        // Whoever reads or copies the one before has an hour.
        for _ in 0..<3 { try await fixture.write() }
        #expect(server.objects.count == 2)
        try await settle(objects: 1, rows: 1)
        #expect(server.objects[first] == nil)
        #expect(await fixture.get(try await fixture.download("a")).body == .bytes(Self.content))
    }

    @Test func `a file that was never saved goes`() async throws {
        _ = try await fixture.upload()
        #expect(server.objects.count == 1)
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 0, rows: 0)
    }

    @Test func `files of a user who is removed go`() async throws {
        try await fixture.create("a", fixture.upload())
        _ = try await fixture.upload("b", Array("other".utf8))
        _ = try await fixture.hub.accounts.removeUser(
            "Ada", container: HubFixture.container, environment: "development")
        fixture.advance(milliseconds: Self.day)
        // As the hub does it whose turn it is to clean up.
        let sweeper = fixture.hub.records.sweeper
        var turns = 0
        try await eventually {
            if try server.objects.isEmpty && rows(.object) == 0 && rows(.doomed) == 0 {
                return true
            }
            _ = try await sweeper.deleter.eraseSome()
            sweeper.removeObjectsSoon()
            if turns < 40 { fixture.advance(milliseconds: Deleter.graceMilliseconds) }
            turns += 1
            return false
        }
    }

    // MARK: The bucket fails

    @Test func `no receipt is given before the object is in the bucket`() async throws {
        let faults = Array(repeating: BucketServer.Fault.status(503, code: "SlowDown"), count: 4)
        for fault in faults { server.fail("put", fault) }
        let refused = await fixture.send(Self.content, to: try await fixture.address())
        #expect(refused.status == 503)
        #expect(server.faultsLeft == 0 && server.objects.isEmpty)
        #expect(try rows(.object) == 1)
        // The object is looked for at the end, as it may have come after all.
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 0, rows: 0)
        #expect(server.count("delete") == 1 && server.count("uploads") == 1)
    }

    @Test func `a reply that is lost makes no second object`() async throws {
        server.fail("put", .lost)
        try await fixture.create("a", fixture.upload())
        #expect(server.objects.count == 1)
        #expect(await fixture.get(try await fixture.download("a")).body == .bytes(Self.content))
    }

    @Test func `records go on while the bucket is away, and files when it is back`() async throws {
        try await fixture.create("a", fixture.upload())
        let path = try await fixture.download("a")
        let upload = try await fixture.address("b")
        server.setAway(true)
        let answer = await fixture.get(path)
        #expect(answer.status == 503 && answer.headers.contains { $0.isNamed("Retry-After") })
        #expect(await fixture.send(Self.content, to: upload).status == 503)
        try await fixture.write()
        let ready = await fixture.hub.respond(to: HubRequest(method: "GET", target: "/ready"))
        #expect(ready.status == 200)
        // What is to be removed waits.
        _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: "a")))
        fixture.advance(milliseconds: Self.day)
        for _ in 0..<20 {
            try await fixture.write()
            fixture.advance(milliseconds: Expiry.objectRetryMilliseconds)
        }
        #expect(server.objects.count == 1)
        server.setAway(false)
        try await fixture.create("c", fixture.upload("c", Array("more".utf8)))
        try await settle(objects: 1, rows: 1)
    }

    @Test func `the last part of an upload is sent again alone`() async throws {
        let path = try await fixture.address()
        func part(_ bytes: [UInt8], at offset: Int) async -> HubResponse {
            await fixture.hub.respond(
                to: HubRequest(
                    method: "PATCH", target: path,
                    headers: [
                        HubRequest.Header("Upload-Offset", "\(offset)"),
                        HubRequest.Header("Upload-Length", "7"),
                    ], body: bytes))
        }
        #expect(await part(Array(Self.content[..<4]), at: 0).status == 200)
        server.setAway(true)
        #expect(await part(Array(Self.content[4...]), at: 4).status == 503)
        server.setAway(false)
        let last = await part(Array(Self.content[4...]), at: 4)
        try #require(last.status == 200)
        let asset = try UploadedFileResponse(body: last.body.content).file
        try await fixture.create("a", asset)
        #expect(await fixture.get(try await fixture.download("a")).body == .bytes(Self.content))
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 1, rows: 1)
    }

    @Test func `a last part that comes again while the file is on its way waits`() async throws {
        let path = try await fixture.address()
        let headers = [
            HubRequest.Header("Upload-Offset", "0"), HubRequest.Header("Upload-Length", "7"),
        ]
        let request = HubRequest(
            method: "PATCH", target: path, headers: headers, body: Self.content)
        server.fail("put", .silence)
        async let first = fixture.hub.respond(to: request)
        try await eventually { server.isSilent }
        async let waiting = fixture.hub.respond(to: request)
        // It comes to wait for the first one; if it is late on a busy machine, it is told what that one was.
        for _ in 0..<1_000 { await Task.yield() }
        server.endSilence()
        let second = await waiting
        #expect(second.status == 200)
        #expect(await first.body == second.body)
        // It is told again what was told before, and the bucket was asked twice only because it was silent.
        let third = await fixture.hub.respond(to: request)
        #expect(second.body == third.body)
        #expect(server.count("put") == 2 && server.objects.count == 1)
        let asset = try UploadedFileResponse(body: third.body.content).file
        try await fixture.create("a", asset)
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 1, rows: 1)
    }

    @Test func `an object that the bucket lost is told, and not served`() async throws {
        try await fixture.create("a", fixture.upload())
        let path = try await fixture.download("a")
        server.objects = [:]
        #expect(await fixture.get(path).status == 404)
    }

    // MARK: Crashes and other hubs

    @Test func `an object of a hub that ended before its rows were complete goes`() async throws {
        _ = try await fixture.upload()
        let partition = try fixture.partition(of: fixture.ada)
        var file = try #require(HubFile(partition, Digest.sha256("other").hexadecimal))
        file.object = HubFile.Object(name: "abc", byteCount: 5)
        let (crashed, until) = (file, fixture.time.withLock { $0 } + 1_000)
        try await fixture.hub.storage.write(to: [partition]) {
            try $0.begin(crashed, until: until)
        }
        server.objects["hub/\(partition.text)/\(file.checksum)-abc"] = Array("other".utf8)
        fixture.advance(milliseconds: Self.day)
        try await settle(objects: 0, rows: 0)
    }

    @Test func `an object that was given up can't come to be used`() async throws {
        let partition = Partition(number: 77)
        var file = try #require(HubFile(partition, Digest.sha256("x").hexadecimal))
        file.object = HubFile.Object(name: "abc", byteCount: 5)
        let late = file
        let isUsed = try await fixture.hub.storage.write(to: [partition]) { transaction in
            try transaction.begin(late, until: 1_000)
            let key = ObjectRow.key(late)
            let row = try #require(try transaction.row(key, as: ObjectRow.self))
            try transaction.doom(key, row, at: 2_000)
            return try transaction.complete(late, othersUntil: 3_000)
        }
        #expect(!isUsed)
        let located = try fixture.hub.storage.readHere { try $0.located(late) }
        #expect(located == late)
    }

    @Test func `an object whose place another one took is not removed before its time`()
        async throws
    {
        let partition = Partition(number: 77)
        let files = try ["abc", "def"].map { name in
            var file = try #require(HubFile(partition, Digest.sha256("x").hexadecimal))
            file.object = HubFile.Object(name: name, byteCount: 1)
            return file
        }
        let (assets, limits) = (fixture.hub.assets, HubLimits())
        let objects = try #require(assets.objects)
        @Sendable func sweep(_ transaction: any HubWriting, now: Int64) throws {
            try Expiry(
                transaction: transaction, partition: partition, assets: assets, limits: limits,
                now: now
            ).run()
        }
        try await fixture.hub.storage.write(to: [partition]) { transaction in
            for (file, until) in zip(files, [1_000, 9_000] as [Int64]) {
                try transaction.begin(file, until: until)
                #expect(try transaction.complete(file, othersUntil: 5_000))
            }
            #expect(try transaction.located(files[0]) == files[1])
            try sweep(transaction, now: 4_999)
        }
        #expect(objects.begin(now: 0) == nil)
        try await fixture.hub.storage.write(to: [partition]) { try sweep($0, now: 5_000) }
        #expect(objects.begin(now: 0) == [ObjectRow.key(files[0])])
        objects.end(hasFailed: true, now: 0)
        objects.note(ObjectRow.key(files[0]))
        #expect(objects.begin(now: 29_999) == nil && objects.begin(now: 30_000) != nil)
    }

    @Test func `what one hub keeps another one serves and removes`() async throws {
        let engine = StorageEngine.shareable.contains(.chosen) ? StorageEngine.chosen : .memory
        let (first, second, kept) = try engine.pair()
        defer { withExtendedLifetime(kept) {} }
        let one = try await HubFixture(storage: first, store: HubFileStore(server.bucket()))
        try await one.makeZones("z")
        let other = try await one.makeHub(over: second, store: HubFileStore(server.bucket()))
        defer { other.close() }
        let path = try await one.address()
        let response = await other.respond(
            to: HubRequest(method: "POST", target: path, body: Self.content))
        let asset = try UploadedFileResponse(body: response.body.content).file
        try await one.create("a", asset)
        #expect(server.objects.count == 1)
        let url = try await one.download("a")
        for hub in [one.hub, other] {
            let file = await hub.respond(to: HubRequest(method: "GET", target: url))
            #expect(file.body == .bytes(Self.content))
        }
    }

    @Test func `a storage that is far away is told what files in a bucket need`() async throws {
        let storage = MemoryHubStorage(isFar: true)
        let fixture = try await HubFixture(
            storage: storage, store: HubFileStore(server.bucket()))
        try await fixture.makeZones("z")
        for name in ["a", "b"] {
            let path = try await fixture.address(name)
            _ = storage.takeMeter()
            let answer = await fixture.send(Self.content, to: path)
            #expect(answer.status == 200 && storage.takeMeter().misses == [])
            let asset = try UploadedFileResponse(body: answer.body.content).file
            try await fixture.create(name, asset)
        }
        let path = try await fixture.download("a")
        _ = storage.takeMeter()
        #expect(await fixture.get(path).status == 200)
        #expect(storage.takeMeter().misses == [])
        for name in ["a", "b"] {
            _ = try await fixture.modify(.init(.forceDelete, WireRecord(recordName: name)))
        }
        fixture.advance(milliseconds: Self.day)
        _ = storage.takeMeter()
        for _ in 0..<3 { try await fixture.write() }
        #expect(storage.takeMeter().misses == [])
    }

    @Test func `a hub with files in a bucket does not serve without it`() async throws {
        let folder = StorageEngine.TemporaryFolder()
        let store = HubFileStore(try server.bucket())
        let hub = try await Hub(at: folder.path, files: store)
        hub.close()
        let other = try await Hub(at: folder.path)
        #expect(throws: HubError.self) { try HubServer(other) }
        other.close()
        let again = try await Hub(at: folder.path, files: store)
        await (try HubServer(again)).stop()
        again.close()
    }

    // MARK: Over the network

    @Test(arguments: [false, true])
    func `a large file is sent while it is fetched`(isSlow: Bool) async throws {
        let bytes = (0..<5_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try await fixture.create("a", fixture.upload("a", bytes))
        let path = try await fixture.download("a")
        let hub = try HubServer(fixture.hub)
        let url = "\(hub.url)"
        let host = "Host: a\r\nConnection: close\r\n"
        if isSlow { server.fail("get", .status(503, code: "SlowDown"), .cutReply(bytes: 100)) }
        for (range, expected) in [
            ("", bytes[...]), ("Range: bytes=1000000-3500000\r\n", bytes[1_000_000...3_500_000]),
        ] {
            let reply = try await RawConnection.whole(
                url, "GET \(path) HTTP/1.1\r\n\(host)\(range)\r\n", slowly: isSlow)
            #expect(reply.status == (range.isEmpty ? 200 : 206))
            #expect(reply.body == Array(expected))
        }
        await hub.stop()
    }

    @Test func `a file whose rest is not to be had is cut, and the hub goes on`() async throws {
        let bytes = [UInt8](repeating: 7, count: 4_000_000)
        try await fixture.create("a", fixture.upload("a", bytes))
        let path = try await fixture.download("a")
        let hub = try HubServer(fixture.hub)
        let url = "\(hub.url)"
        let head = "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        server.objects = server.objects.mapValues { Array($0.prefix(1_500_000)) }
        let cut = try await RawConnection.all(url, head)
        #expect(cut.count > 1_000_000 && cut.count < 2_000_000)
        let alive = try await RawConnection.whole(
            url, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", slowly: false)
        #expect(alive.status == 200)
        await hub.stop()
    }

    @Test func `a server ends while a file waits for the bucket`() async throws {
        let bytes = [UInt8](repeating: 7, count: 3_000_000)
        try await fixture.create("a", fixture.upload("a", bytes))
        let path = try await fixture.download("a")
        var configuration = HubServer.Configuration()
        configuration.limits.stopSeconds = 2
        let hub = try HubServer(fixture.hub, configuration: configuration)
        let url = "\(hub.url)"
        // The first piece comes, the second one does not.
        let first = server.count("get")
        server.fail("get", .pass)
        for _ in 0..<8 { server.fail("get", .silence) }
        async let all = RawConnection.all(
            url, "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        while server.count("get") == first { await Task.yield() }
        await hub.stop()
        #expect(server.faultsLeft > 0)
        #expect(try await all.count < bytes.count)
    }

    @Test func `a hub ends while an upload waits for a bucket that is silent`() async throws {
        let fixture = try await HubFixture(store: HubFileStore(server.bucket()))
        try await fixture.makeZones("z")
        let path = try await fixture.address()
        var configuration = HubServer.Configuration()
        configuration.limits.stopSeconds = 2
        let hub = try HubServer(fixture.hub, configuration: configuration)
        let url = "\(hub.url)"
        server.fail("put", .silence)
        async let all = RawConnection.all(
            url, "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na")
        while server.count("put") == 0 { await Task.yield() }
        await hub.stop()
        #expect(String(decoding: try await all, as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
        #expect(server.objects.isEmpty)
    }

    // MARK: Copies

    @Test func `a backup has the files of the bucket, and needs it no more`() async throws {
        let root = StorageEngine.TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: root.path, withIntermediateDirectories: true)
        let store = HubFileStore(try server.bucket())
        let (source, copy, restored) = (
            root.path + "/hub", root.path + "/copy", root.path + "/restored"
        )
        let fixture = try await HubFixture(
            storage: LMDBHubStorage(at: source), store: store, folder: source + "/assets")
        try await fixture.makeZones("z")
        try await fixture.create("a", fixture.upload())

        #expect(try Hub.diagnose(at: source, files: store).isHealthy)
        #expect(try Hub.verify(at: source, files: store).isHealthy)
        #expect(try Hub.diagnose(at: source).findings.first?.contains("--bucket") == true)
        #expect(throws: HubError.self) { try Hub.backUp(source, to: copy) }
        #expect(try Hub.backUp(source, to: copy, files: store).files == 1)
        let kept = server.objects

        // A damaged and a missing object are found.
        server.objects = kept.mapValues { _ in Array("damaged".utf8) }
        #expect(try Hub.diagnose(at: source, files: store).isHealthy)
        #expect(try Hub.verify(at: source, files: store).findings.count == 1)
        server.objects = [:]
        #expect(try Hub.diagnose(at: source, files: store).findings.count == 1)
        server.setAway(true)
        #expect(throws: BucketFailure.self) { try Hub.diagnose(at: source, files: store) }

        #expect(try Hub.verify(at: copy).isHealthy)
        #expect(try Hub.restore(copy, to: restored).files == 1)
        server.setAway(false)
        // The copy serves its files from the folder, with a bucket beside it too.
        let again = try await Hub(at: restored, files: store)
        defer { again.close() }
        let file = try #require(
            try again.storage.readHere { transaction in
                var files: [HubFile] = []
                try transaction.forEachFile { file, _ in files.append(file) }
                return files.first
            })
        #expect(file.object == nil)
        #expect(try again.assets.read(file, 0..<100) == Self.content)
    }
}

extension HubFixture {
    fileprivate static let content: [UInt8] = Array("content".utf8)

    /// The path of a new address for an upload.
    fileprivate func address(_ record: String = "a") async throws -> String {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: record, fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await call(.uploadAssets, places)
        return HostileWorld.path(try #require(uploads.tokens.first).url)
    }

    fileprivate func send(_ bytes: [UInt8], to path: String) async -> HubResponse {
        await hub.respond(to: HubRequest(method: "POST", target: path, body: bytes))
    }

    fileprivate func upload(_ record: String = "a", _ bytes: [UInt8] = HubFixture.content)
        async throws
        -> ServiceAsset
    {
        let response = await send(bytes, to: try await address(record))
        try #require(response.status == 200)
        return try UploadedFileResponse(body: response.body.content).file
    }

    fileprivate func create(_ name: String, _ asset: ServiceAsset) async throws {
        let saved = try await modify(
            .init(.create, Self.record(name, ["f": .asset(asset)])))
        try #require(saved.first?.code == nil)
    }

    /// The path that a record's file is fetched from.
    fileprivate func download(_ name: String) async throws -> String {
        let request = LookupRecordsRequest(
            records: [.init(recordName: name)], zoneID: WireZoneID("z"))
        let reply: RecordsResponse = try await call(.lookupRecords, request)
        guard case .asset(let asset) = reply.records.first?.value?.fields["f"]?.value else {
            throw WireError.nothing
        }
        return HostileWorld.path(try #require(asset.downloadURL))
    }

    fileprivate func get(_ path: String, range: String? = nil) async -> HubResponse {
        await hub.respond(
            to: HubRequest(
                method: "GET", target: path,
                headers: range.map { [HubRequest.Header("Range", $0)] } ?? []))
    }

    /// Writes something, so that the hub looks at what is due.
    fileprivate func write() async throws {
        _ = try await modify(.init(.forceUpdate, Self.record("other")))
    }
}

extension RawConnection {
    /// All bytes that come for a request.
    static func all(_ url: String, _ request: String) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            SystemThread.detach {
                continuation.resume(
                    with: Result {
                        let connection = try RawConnection(url: url)
                        connection.send(Array(request.utf8))
                        return connection.rest()
                    })
            }
        }
    }

    /// The one reply to a request.
    ///
    /// - Parameter slowly: Whether the client has little room for what comes.
    static func whole(_ url: String, _ request: String, slowly: Bool) async throws -> Reply {
        try await withCheckedThrowingContinuation { continuation in
            SystemThread.detach {
                continuation.resume(
                    with: Result {
                        let connection = try RawConnection(
                            url: url, bufferBytes: slowly ? 4_096 : nil)
                        connection.send(Array(request.utf8))
                        guard let reply = RawConnection.replies(in: connection.rest()).first else {
                            throw POSIXError(.ECONNRESET)
                        }
                        return reply
                    })
            }
        }
    }
}
