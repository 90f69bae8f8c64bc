import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import Threading
import Waiting
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// Passwords and uploads, which take long, beside requests that don't.
@Suite("Work on threads that clients share", .budgeted)
struct SharedThreadTests {
    private static let password = "correct-horse"

    /// Has all threads of a pool until the test lets go.
    private final class Hold: Sendable {
        private let isOver = Locked(false)

        init(_ pool: WorkPool, threads: Int) async throws {
            let begun = Locked(0)
            for _ in 0..<threads {
                pool.submit(.page, RequestWork()) { [isOver] in
                    begun.withLock { $0 += 1 }
                    blockUntil { isOver.withLock { $0 } }
                    return {}
                } refuse: {
                }
            }
            try await eventually { begun.withLock { $0 } == threads }
        }

        deinit { end() }

        func end() { isOver.withLock { $0 = true } }
    }

    /// A write that ends when the test lets go. Others of its partition wait for their turn meanwhile.
    private final class HeldWrite: Sendable {
        private let isOver = Locked(false)

        init(_ storage: any HubStorage, to partition: Partition) async throws {
            let hasBegun = Locked(false)
            Task { [isOver] in
                try? await storage.write(to: [partition]) { _ in
                    hasBegun.withLock { $0 = true }
                    blockUntil { isOver.withLock { $0 } }
                }
            }
            try await eventually { hasBegun.withLock { $0 } }
        }

        deinit { end() }

        func end() { isOver.withLock { $0 = true } }
    }

    /// A request with a clock of its own, so that nothing else is late when it is.
    private final class LateRequest: Sendable {
        private let hub: Hub
        private let time = Locked<Int64>(0)
        private let answer = Locked<HubResponse?>(nil)

        init(_ request: HubRequest, to hub: Hub) {
            self.hub = hub
            let work = RequestWork(client: "late") { [time] in time.withLock { $0 } }
            Task { [answer] in
                let response = await hub.respond(to: request, work)
                answer.withLock { $0 = response }
            }
        }

        /// Expects that the request is refused by the clock, as others are.
        func expectRefusal() async throws {
            let milliseconds = Int64(hub.configuration.limits.requestMilliseconds)
            try await eventually {
                time.withLock { $0 += milliseconds }
                hub.tick()
                return answer.withLock { $0 != nil }
            }
            let response = try #require(answer.withLock { $0 })
            #expect(response.status == 503)
            #expect(response.headers.contains { $0.isNamed("Retry-After") && $0.value == "5" })
        }
    }

    /// A hub with a sign-in page, where Ada has a password.
    private static func hub(
        _ limits: HubLimits = HubLimits(), _ engine: StorageEngine = .chosen
    ) async throws -> MeteredHub {
        let hub = try await MeteredHub(limits, storage: engine.storage())
        let (signIns, token) = (hub.fixture.hub.signIns, hub.fixture.apiToken)
        #expect(
            try await signIns.setPages(
                ofToken: HubAccounts.id(ofAPIToken: token), origins: ["https://app.example.com"],
                callback: nil))
        try await signIns.setPassword(
            Self.password, of: "Ada",
            in: HubAccounts.Realm(HubFixture.container, environment: "development"))
        return hub
    }

    private static func form(
        _ fixture: HubFixture, _ name: String, _ password: String = SharedThreadTests.password,
        from address: String = "192.0.2.1"
    ) -> HubRequest {
        HubRequest(
            method: "POST", target: "/signin/" + Digest.sha256(fixture.apiToken).hexadecimal,
            headers: [
                HubRequest.Header("Host", "hub.example.com"),
                HubRequest.Header("Origin", "https://hub.example.com"),
                HubRequest.Header("Content-Type", "application/x-www-form-urlencoded"),
            ], body: Array("by=password&name=\(name)&password=\(password)".utf8),
            remoteAddress: address)
    }

    /// The path of a new address for an upload.
    private static func uploadPath(_ fixture: HubFixture, _ record: String) async throws -> String {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: record, fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        return HostileWorld.path(try #require(uploads.tokens.first).url)
    }

    /// An upload in one piece, and one in a part that is the whole of it.
    private static func uploads(_ fixture: HubFixture) async throws -> [HubRequest] {
        let (whole, part) = (
            try await uploadPath(fixture, "a"), try await uploadPath(fixture, "b")
        )
        let bytes = Array("0123456789".utf8)
        return [
            HubRequest(method: "POST", target: whole, body: bytes),
            HubRequest(
                method: "PATCH", target: part,
                headers: [
                    HubRequest.Header("Upload-Offset", "0"),
                    HubRequest.Header("Upload-Length", "10"),
                ], body: bytes),
        ]
    }

    /// The body of a call that creates a record with a text of so many bytes.
    private static func creation(bytes: Int) -> String {
        let text = MeteredHub.text("s", String(repeating: "x", count: bytes))
        return #"{"zoneID":{"zoneName":"z"},"operations":[{"operationType":"create","record":"#
            + MeteredHub.record("r", text) + "}]}"
    }

    // MARK: Costs

    @Test(arguments: StorageEngine.served)
    func `each page that has a thread to itself for a while counts what that costs`(
        engine: StorageEngine
    ) async throws {
        let hub = try await Self.hub(HubLimits(), engine)
        var tried: Set<String> = []
        for request in try await Self.uploads(hub.fixture) {
            let reply = await hub.send(request)
            #expect(reply.status == 200)
            #expect(reply.meter.fileWaits >= 2 && reply.meter.fileBytes >= 20)
            #expect(reply.meter.keysWritten >= 3)
            tried.insert(request.callName)
        }
        for password in [Self.password, "wrong-horse"] {
            let request = Self.form(hub.fixture, "Ada", password)
            let reply = await hub.send(request)
            #expect(reply.status == (password == Self.password ? 200 : 401))
            // What a user's own query costs is some hundreds.
            #expect(reply.meter.passwords == 1 && reply.meter.cost > 50_000)
            #expect((reply.meter.keysWritten > 0) == (password == Self.password))
            tried.insert(request.callName)
        }
        // A file comes from the folder without a thread; from a bucket each piece counts.
        let others: Set<String> = ["asset", "courier", "healthz", "metrics", "ready"]
        #expect(tried.union(others) == Set(HubPage.all.map(\.name)))
    }

    @Test func `a large body costs what it takes to read it`() async throws {
        let hub = try await Self.hub()
        let reply = await hub.send(.modifyRecords, Self.creation(bytes: 100_000))
        #expect(reply.status == 200 && reply.meter.bytesRead >= 100_000)
    }

    // MARK: Passwords

    /// The statuses of sign-ins that come at once from one address, in the order of the answers.
    ///
    /// - Parameter answers: After how many answers the threads are let go. No sign-in has one before.
    private static func statuses(
        ofSignIns count: Int, to fixture: HubFixture, releasing hold: Hold, after answers: Int
    ) async -> [Int] {
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                let request = form(fixture, "name-\(number)")
                group.addTask { await fixture.hub.respond(to: request).status }
            }
            var statuses: [Int] = []
            for await status in group {
                statuses.append(status)
                if statuses.count == answers { hold.end() }
            }
            return statuses
        }
    }

    @Test func `of many passwords at once no more pass than may fail`() async throws {
        var limits = HubLimits()
        limits.failedSignInsPerMinute = 3
        let fixture = try await Self.hub(limits).fixture
        let hold = try await Hold(fixture.hub.threads.passwords, threads: limits.passwordThreads)
        let statuses = await Self.statuses(ofSignIns: 40, to: fixture, releasing: hold, after: 37)
        #expect(statuses.prefix(37).allSatisfy { $0 == 429 })
        #expect(statuses.suffix(3).allSatisfy { $0 == 401 })
        // Those that were right are not counted.
        for _ in 0..<5 {
            let request = Self.form(fixture, "Ada", from: "192.0.2.2")
            #expect(await fixture.hub.respond(to: request).status == 200)
        }
    }

    @Test func `passwords that find no place are refused, and nobody else waits for them`()
        async throws
    {
        var limits = HubLimits()
        (limits.waitingPasswords, limits.failedPasswordsPerHour) = (4, 1)
        let fixture = try await Self.hub(limits).fixture
        let hub = fixture.hub
        let hold = try await Hold(hub.threads.passwords, threads: limits.passwordThreads)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...4 {
                let request = Self.form(fixture, "name-\(number)", from: "192.0.2.\(number)")
                group.addTask { await hub.respond(to: request).status }
            }
            try await eventually { hub.threads.passwords.waitingCount == 4 }
            #expect(
                hub.metricFamilies.map(\.text).joined()
                    .contains("\nbackstitch_hub_passwords_waiting 4\n"))
            let refused = await hub.respond(to: Self.form(fixture, "Ada", from: "192.0.2.9"))
            #expect(refused.status == 503)
            #expect(refused.headers.contains { $0.isNamed("Retry-After") })
            let query = await fixture.send(
                .queryRecords, as: fixture.ada, body: Array(#"{"query":{"recordType":"T"}}"#.utf8))
            #expect(query.status == 200)
            hold.end()
            for try await status in group { #expect(status == 401) }
        }
        // What was refused is not one that failed.
        let right = await hub.respond(to: Self.form(fixture, "Ada", from: "192.0.2.9"))
        #expect(right.status == 200)
    }

    @Test func `of one address a quarter waits`() async throws {
        var limits = HubLimits()
        limits.waitingPasswords = 8
        let fixture = try await Self.hub(limits).fixture
        let hold = try await Hold(fixture.hub.threads.passwords, threads: limits.passwordThreads)
        let statuses = await Self.statuses(ofSignIns: 6, to: fixture, releasing: hold, after: 4)
        #expect(statuses == [503, 503, 503, 503, 401, 401])
    }

    @Test func `a password that waits too long is refused while the thread is still taken`()
        async throws
    {
        var limits = HubLimits()
        limits.failedPasswordsPerHour = 1
        let fixture = try await Self.hub(limits).fixture
        let hub = fixture.hub
        let hold = try await Hold(hub.threads.passwords, threads: limits.passwordThreads)
        try await withThrowingTaskGroup(of: Int.self) { group in
            let request = Self.form(fixture, "Ada")
            group.addTask { await hub.respond(to: request).status }
            try await eventually { hub.threads.passwords.waitingCount == 1 }
            fixture.advance(milliseconds: Int64(limits.waitMilliseconds))
            hub.tick()
            #expect(hub.threads.passwords.waitingCount == 1)
            fixture.advance(milliseconds: 1)
            hub.tick()
            for try await status in group { #expect(status == 503) }
        }
        hold.end()
        #expect(await hub.respond(to: Self.form(fixture, "Ada")).status == 200)
    }

    // MARK: Uploads

    @Test(arguments: StorageEngine.served)
    func `uploads that wait for the disk keep no thread from others`(engine: StorageEngine)
        async throws
    {
        let fixture = try await Self.hub(HubLimits(), engine).fixture
        let hub = fixture.hub
        let uploads = try await Self.uploads(fixture)
        let hold = try await Hold(hub.threads.disk, threads: hub.configuration.limits.uploadThreads)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for upload in uploads { group.addTask { await hub.respond(to: upload).status } }
            try await eventually { hub.threads.disk.waitingCount == 2 }
            // Its body is so large that a thread for pages reads it.
            let record = HubFixture.record(
                "r", ["s": .string(String(repeating: "x", count: 100_000))])
            let created = try await fixture.modify(.init(.create, record))
            #expect(created.allSatisfy { $0.code == nil })
            let lookup = await fixture.send(
                .lookupRecords, as: fixture.ada,
                body: Array(
                    #"{"zoneID":{"zoneName":"z"},"records":[{"recordName":"r"}]}"#.utf8))
            #expect(lookup.status == 200)
            #expect(hub.threads.disk.waitingCount == 2)
            hold.end()
            for try await status in group { #expect(status == 200) }
        }
    }

    // MARK: Writes

    @Test(arguments: StorageEngine.served)
    func `an upload whose turn to write does not come is refused by a clock`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.hub(HubLimits(), engine).fixture
        let hub = fixture.hub
        let uploads = try await Self.uploads(fixture)
        let target = try #require(RequestTarget(uploads[0].target))
        let partition = try #require(AssetCalls.uploadKey(of: target)?.partition)
        let held = try await HeldWrite(hub.storage, to: partition)
        for upload in uploads { try await LateRequest(upload, to: hub).expectRefusal() }
        held.end()
        for upload in uploads { #expect(await hub.respond(to: upload).status == 200) }
    }

    @Test(arguments: StorageEngine.served)
    func `the second write of an upload is refused by a clock too`(engine: StorageEngine)
        async throws
    {
        let fixture = try await Self.hub(HubLimits(), engine).fixture
        let hub = fixture.hub
        var upload = HubRequest(method: "POST", target: try await Self.uploadPath(fixture, "a"))
        let target = try #require(RequestTarget(upload.target))
        let partition = try #require(AssetCalls.uploadKey(of: target)?.partition)
        // It came as a file, as from a server, and so needs no thread before its first write.
        let bytes = Array("0123456789".utf8)
        let path = hub.assets.incomingPath([UInt8](repeating: 1, count: 16))
        try hub.assets.write(bytes, to: path)
        upload.body = .file(path: path, byteCount: bytes.count, sha256: Digest.sha256(bytes))
        let hold = try await Hold(hub.threads.disk, threads: hub.configuration.limits.uploadThreads)
        let late = LateRequest(upload, to: hub)
        try await eventually { hub.threads.disk.waitingCount == 1 }
        let held = try await HeldWrite(hub.storage, to: partition)
        hold.end()
        try await late.expectRefusal()
        held.end()
    }

    @Test(arguments: StorageEngine.served)
    func `a sign-in whose turn to write does not come is refused by a clock`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await Self.hub(HubLimits(), engine).fixture
        let hub = fixture.hub
        let held = try await HeldWrite(hub.storage, to: .global)
        try await LateRequest(Self.form(fixture, "Ada"), to: hub).expectRefusal()
        // As for somebody whom a proxy signed in.
        let (work, isRefused) = (RequestWork(client: "late"), Locked(false))
        let realm = HubAccounts.Realm(HubFixture.container, environment: "development")
        let person = Task {
            do {
                _ = try await hub.accounts.signIn("Ada", realm, work)
            } catch is WorkCancelled {
                isRefused.withLock { $0 = true }
            }
        }
        work.giveUp()
        try await eventually {
            hub.tick()
            return isRefused.withLock { $0 }
        }
        try await person.value
        held.end()
        #expect(await hub.respond(to: Self.form(fixture, "Ada")).status == 200)
    }

    @Test func `a large body that finds no room is refused by a clock`() async throws {
        var limits = HubLimits()
        limits.parsedBytes = 40_000
        let fixture = try await Self.hub(limits).fixture
        let hub = fixture.hub
        let request = HubRequest(
            method: "POST", target: fixture.target(.modifyRecords, as: fixture.ada),
            body: Array(Self.creation(bytes: 40_000).utf8))
        try await hub.parsing.with(bytes: limits.parsedBytes, RequestWork()) {
            // One is the next that gets room, and one waits behind it.
            let late = (0..<2).map { _ in LateRequest(request, to: hub) }
            for request in late { try await request.expectRefusal() }
        }
        #expect(await hub.respond(to: request).status == 200)
    }
}
