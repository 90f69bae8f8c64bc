import Foundation
import TestBudget
import Testing
import Threading
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubBucket
@testable import BackstitchHubCore

/// What a hub asks a bucket for, and what it makes of what goes wrong.
@Suite(.budgeted) struct BucketClientTests {
    private let server: BucketServer
    private let folder: StorageEngine.TemporaryFolder

    init() throws {
        server = try BucketServer()
        folder = StorageEngine.TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
    }

    private func client(_ change: (inout Bucket) -> Void = { _ in }) throws -> BucketClient {
        var bucket = try server.bucket("files")
        change(&bucket)
        return BucketClient(bucket, clock: .system)
    }

    /// A client for which time passes with each look at the clock.
    private func client(secondsPerLook seconds: Int64) throws -> BucketClient {
        let time = Locked<Int64>(0)
        var clock = HubClock.system
        clock.steadyMilliseconds = {
            time.withLock { time in
                time += seconds * 1_000
                return time
            }
        }
        return BucketClient(try server.bucket("files"), clock: clock)
    }

    private static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    }

    /// Puts bytes as an object.
    private func put(_ bytes: [UInt8], as key: String, by client: BucketClient) throws {
        let path = folder.path + "/\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try client.put(
            key, path: path, byteCount: bytes.count, sha256: Digest.sha256(bytes).hexadecimal)
    }

    private func failure(_ body: () throws -> Void) -> BucketFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? BucketFailure
        }
    }

    // MARK: Objects

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
    func `an object is what was put, in one piece or in parts`(count: Int) throws {
        let client = try client()
        let bytes = Self.content(count)
        try put(bytes, as: "a/b", by: client)
        #expect(server.objects == ["a/b": bytes])
        #expect(try client.byteCount("a/b") == count)
        #expect(server.count("part") == (count > 65_536 ? (count + 65_535) / 65_536 : 0))
        #expect(server.uploadCount == 0)
        for range in [0..<1, 0..<count + 10, count / 2..<count / 2 + 7] where !range.isEmpty {
            #expect(try client.read("a/b", range) == Array(bytes[range.clamped(to: 0..<count)]))
        }
        try client.remove("a/b")
        try client.remove("a/b")
        #expect(server.objects.isEmpty)
        #expect(try client.byteCount("a/b") == nil)
        #expect(failure { _ = try client.read("a/b", 0..<1) }?.kind == .missing)
    }

    @Test func `parts are as many as a service takes`() {
        #expect(BucketClient.partBytes(of: 1, usual: 16 << 20) == 16 << 20)
        let most = 5 << 40
        let bytes = BucketClient.partBytes(of: most, usual: 16 << 20)
        #expect(bytes > 16 << 20 && (most + bytes - 1) / bytes <= BucketClient.partsMax)
    }

    // MARK: Faults

    private static let passing: [BucketServer.Fault] = [
        .status(500, code: "InternalError"), .status(503, code: "SlowDown"),
        .status(503, code: "SlowDown", retryAfter: 0), .cut, .lost, .status(502, code: ""),
        .status(400, code: "RequestTimeout"), .status(400, code: "XAmzContentSHA256Mismatch"),
    ]

    @Test(arguments: ["put", "head", "get", "delete", "uploads"])
    func `what passes is tried again, with one outcome`(operation: String) throws {
        for fault in Self.passing {
            // The answer to HEAD has no document that tells why.
            if operation == "head", case .status(400, _, _) = fault { continue }
            let client = try client()
            let bytes = Self.content(100)
            server.fail(operation, fault)
            try put(bytes, as: "a", by: client)
            #expect(server.objects == ["a": bytes])
            #expect(try client.read("a", 0..<100) == bytes)
            try client.remove("a")
            #expect(server.objects.isEmpty && server.faultsLeft == 0, "\(fault)")
        }
    }

    @Test(arguments: ["begin", "part", "complete"])
    func `what passes of an upload in parts is tried again`(operation: String) throws {
        for fault in Self.passing + (operation == "complete" ? [.failureInside] : []) {
            let client = try client()
            let bytes = Self.content(150_000)
            server.fail(operation, fault)
            try put(bytes, as: "a", by: client)
            #expect(server.objects == ["a": bytes] && server.faultsLeft == 0, "\(fault)")
            try client.remove("a")
            // Also an upload whose beginning was answered to nobody.
            #expect(server.uploadCount == 0, "\(fault)")
        }
    }

    @Test func `a reply that is cut is read again`() throws {
        let client = try client()
        let bytes = Self.content(1_000)
        try put(bytes, as: "a", by: client)
        server.fail("get", .cutReply(bytes: 10), .cutReply(bytes: 0))
        #expect(try client.read("a", 0..<1_000) == bytes)
        #expect(server.count("get") == 3)
    }

    @Test func `a service that is silent is given up, in time`() throws {
        let client = try client {
            $0.patience.requestMilliseconds = 100
            $0.patience.attempts = 2
        }
        server.fail("head", .silence, .silence)
        #expect(failure { _ = try client.byteCount("a") }?.kind == .away)
        #expect(client.metrics.attempts("head") == 2)
    }

    @Test func `as often as is said, and no more`() throws {
        let client = try client { $0.patience.attempts = 3 }
        let faults = Array(repeating: BucketServer.Fault.status(503, code: "SlowDown"), count: 9)
        for fault in faults { server.fail("head", fault) }
        let failure = try #require(failure { _ = try client.byteCount("a") })
        #expect(failure.kind == .busy && failure.isPassing && !failure.isAboutSpace)
        #expect(server.count("head") == 3)
        // Whoever asks for more time than there is gets it at once.
        server.fail("list", .status(503, code: "SlowDown", retryAfter: 60))
        #expect(self.failure { try client.check() }?.pauseMilliseconds == 60_000)
        #expect(server.count("list") == 1)
    }

    @Test func `after three quarters of a minute no attempt begins`() throws {
        let client = try client(secondsPerLook: 45)
        for _ in 0..<4 { server.fail("head", .status(503, code: "SlowDown")) }
        #expect(failure { _ = try client.byteCount("a") }?.kind == .busy)
        #expect(server.count("head") == 1)
    }

    @Test func `an object is looked for within the time in which it was put`() throws {
        let client = try client(secondsPerLook: 15)
        for _ in 0..<2 { server.fail("put", .status(503, code: "SlowDown")) }
        for _ in 0..<4 { server.fail("head", .status(503, code: "SlowDown")) }
        #expect(failure { try put([1], as: "a", by: client) }?.kind == .busy)
        #expect(server.count("put") == 3 && server.count("head") == 1)
    }

    @Test func `the time begins again after each part, and not to give the others up`() throws {
        let client = try client(secondsPerLook: 15)
        server.fail("part", .status(503, code: "SlowDown"))
        server.fail("part", .pass)
        for _ in 0..<4 { server.fail("part", .status(503, code: "SlowDown")) }
        #expect(failure { try put(Self.content(150_000), as: "a", by: client) }?.kind == .busy)
        #expect(server.count("part") == 5 && server.count("abort") == 0)
        // That is done with the row of the object.
        #expect(server.uploadCount == 1)
        try self.client().remove("a")
        #expect(server.uploadCount == 0)
    }

    @Test func `what does not pass is told at once`() throws {
        let client = try client()
        for (status, code, kind) in [
            (403, "AccessDenied", BucketFailure.Kind.refused),
            (403, "RequestTimeTooSkewed", .refused),
            (301, "PermanentRedirect", .noBucket), (405, "MethodNotAllowed", .unknown),
            (404, "NoSuchBucket", .noBucket),
        ] {
            let before = server.count("list")
            server.fail("list", .status(status, code: code))
            let failure = try #require(failure { try client.check() })
            #expect(failure.kind == kind && failure.description.contains(code))
            #expect(server.count("list") == before + 1)
        }
        let missing = BucketClient(try server.bucket("none"), clock: .system)
        #expect(failure { try missing.check() }?.kind == .noBucket)
    }

    @Test func `an object that is not what was sent is no success`() throws {
        let client = try client { $0.patience.attempts = 1 }
        // The service notes another tag than the one of the part.
        server.fail("part", .wrongTag)
        #expect(failure { try put(Self.content(150_000), as: "a", by: client) }?.kind == .damaged)
        #expect(server.objects.isEmpty && server.uploadCount == 0)
        // The file is not what its digest says.
        let path = folder.path + "/other"
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        let failed = failure {
            try client.put(
                "a", path: path, byteCount: 3, sha256: Digest.sha256([UInt8]()).hexadecimal)
        }
        #expect(failed?.kind == .damaged && server.objects.isEmpty)
        // It is said to be there, and is not.
        server.fail("head", .status(404, code: ""))
        #expect(failure { try put([1], as: "b", by: client) }?.kind == .damaged)
    }

    @Test func `a part of an object is the one that was asked for`() throws {
        let client = try client { $0.patience.attempts = 1 }
        try put(Self.content(1_000), as: "a", by: client)
        server.fail("get", .ignoredRange)
        #expect(failure { _ = try client.read("a", 10..<20) }?.kind == .damaged)
    }

    @Test func `a service that is not there is away`() throws {
        var bucket = try Bucket("http://127.0.0.1:1/files", credentials: BucketServer.credentials)
        bucket.patience.backoffMilliseconds = 1
        let client = BucketClient(bucket, clock: .system)
        let failure = try #require(failure { try client.check() })
        #expect(failure.kind == .away && failure.isPassing)
        #expect(client.metrics.attempts("check") == 4)
        // A hub that ends waits for nothing more.
        client.end()
        #expect(self.failure { try client.check() }?.kind == .away)
        #expect(client.metrics.attempts("check") == 5)
    }

    // MARK: Secrets

    @Test func `no secret is in a failure, a metric, a description or a head`() throws {
        let secret = "a/secret+that=nobody:knows"
        let client = try client { $0.patience.attempts = 1 }
        var texts = ["\(BucketServer.credentials)", "\(try server.bucket())"]
        dump(try server.bucket(), to: &texts[0])
        for fault in Self.passing + [.status(403, code: secret)] {
            server.fail("list", fault)
            texts.append(failure { try client.check() }?.description ?? "")
        }
        texts += client.metrics.families.map(\.text) + server.seen.map(\.head)
        for text in texts {
            #expect(!text.contains(secret))
        }
    }

    @Test func `a session's token is signed and sent`() throws {
        let credentials = BucketCredentials(
            accessKey: BucketServer.credentials.accessKey,
            secret: BucketServer.credentials.secret, sessionToken: "for a time")
        let client = BucketClient(
            try server.bucket("files", credentials: credentials), clock: .system)
        try client.check()
        let head = try #require(server.seen.last?.head)
        #expect(head.contains("x-amz-security-token: for a time"))
        #expect(head.contains("x-amz-date;x-amz-security-token,"))
    }

    @Test func `other credentials are refused`() throws {
        for (key, secret) in [("AKIDEXAMPLE", "other"), ("OTHER", "a/secret+that=nobody:knows")] {
            let client = BucketClient(
                try server.bucket(
                    "files", credentials: BucketCredentials(accessKey: key, secret: secret)),
                clock: .system)
            let failure = try #require(failure { try client.check() })
            #expect(failure.kind == .refused && failure.description.contains("credentials"))
        }
    }
}
