import BackstitchCore
import BackstitchTesting
import CloudKitWire
import Foundation
import Testing
import Threading
import Waiting
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// A hub in memory with two users, whose time and chance the test gives.
final class HubFixture: Sendable {
    static let container = "iCloud.test"

    let hub: Hub
    let apiToken: String
    let ada: HubAccounts.SignedInUser
    let bob: HubAccounts.SignedInUser
    let time: Locked<Int64>
    /// The steady clock, and how far each look at it moves it on.
    let steady: Locked<(now: Int64, step: Int64)>
    /// The folder of files.
    let folder: URL

    /// - Parameters:
    ///   - storage: Where rows are kept; in what ``StorageEngine/chosen`` makes unless given.
    ///   - store: Where files are kept, if not in the folder.
    ///   - path: The folder; one of its own unless given.
    init(
        limits: HubLimits = HubLimits(), seed: UInt64 = 1, storage: (any HubStorage)? = nil,
        store: HubFileStore? = nil, folder path: String? = nil
    ) async throws {
        folder =
            path.map { URL(filePath: $0) }
            ?? FileManager.default.temporaryDirectory
            .appendingPathComponent("hub-\(UUID().uuidString)")
        let time = Locked<Int64>(1_700_000_000_000)
        self.time = time
        let steady = Locked<(now: Int64, step: Int64)>((0, 0))
        self.steady = steady
        let random = Locked(SeededGenerator(seed: seed))
        var configuration = HubConfiguration()
        configuration.limits = limits
        configuration.clock = HubClock(
            milliseconds: { time.withLock { $0 } },
            secret: { count in
                random.withLock { random in
                    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
            },
            steadyMilliseconds: {
                steady.withLock { steady in
                    steady.now += steady.step
                    return steady.now
                }
            })
        hub = try await Hub(
            storage: storage ?? StorageEngine.chosen.storage(.patient),
            files: store.files(over: FolderFiles(folder: folder.path), configuration),
            configuration: configuration, platform: .system)
        try await hub.accounts.makeContainer(Self.container, environment: "development")
        apiToken = try await hub.accounts.makeAPIToken(Self.container, environment: "development")
        ada = try await hub.accounts.signIn(
            "Ada", container: Self.container, environment: "development",
            emailAddress: "ada@example.com")
        bob = try await hub.accounts.signIn(
            "Bob", container: Self.container, environment: "development")
    }

    deinit {
        hub.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Another hub with the same files, clock and chance, which its maker closes before the fixture goes.
    func makeHub(
        over storage: any HubStorage, store: HubFileStore? = nil
    ) async throws -> Hub {
        try await Hub(
            storage: storage,
            files: store.files(over: FolderFiles(folder: folder.path), hub.configuration),
            configuration: hub.configuration, platform: .system)
    }

    /// What becomes of a head, as the server has it decided.
    func admission(of head: inout HubRequest, length: Int?) async -> Admissions.Admission {
        if let admission = hub.admissions.admissionAtOnce(of: &head, length: length) {
            return admission
        }
        return await hub.admissions.admission(of: &head, length: length)
    }

    /// Waits until as many devices wait for notifications.
    func waitForListeners(_ count: Int = 1) async throws {
        try await eventually { hub.mailboxes.waiterCount == count }
    }

    /// Waits until devices were told of what was changed until now.
    func tellAll() async {
        while hub.notifier.queue.count > 0 { await Task.yield() }
    }

    /// Moves the time on.
    func advance(milliseconds: Int64) {
        setClock(by: milliseconds)
        steady.withLock { $0.now += milliseconds }
    }

    /// Sets the clock forth or back, while no time passes.
    func setClock(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }

    /// The address of a call.
    func target(
        _ endpoint: Endpoint, in database: WireDatabase = .private,
        as user: HubAccounts.SignedInUser? = nil
    ) -> String {
        let path = WirePath(
            container: Self.container, environment: "development",
            database: endpoint.isOfDevice ? nil : database, endpoint: endpoint)
        var target = path.text + "?ckAPIToken=\(apiToken)"
        if let token = user?.webAuthToken {
            let escaped = token.replacing("+", with: "%2B").replacing("/", with: "%2F")
                .replacing("=", with: "%3D")
            target += "&ckWebAuthToken=\(escaped)"
        }
        return target
    }

    /// Sends a request, checks it and the reply against the description, and answers status and body.
    ///
    /// - Parameter mayBeWrong: Whether the request is meant to be refused.
    func send(
        _ endpoint: Endpoint, in database: WireDatabase = .private,
        as user: HubAccounts.SignedInUser? = nil, headers: [HubRequest.Header] = [], body: [UInt8],
        mayBeWrong: Bool = true
    ) async -> (status: Int, body: [UInt8]) {
        let request = HubRequest(
            method: "POST", target: target(endpoint, in: database, as: user), headers: headers,
            body: body)
        let response = await hub.respond(to: request)
        response.check(against: request, mayBeWrong: mayBeWrong)
        guard case .bytes(let bytes) = response.body else { return (response.status, []) }
        return (response.status, bytes)
    }

    /// Sends a request as Ada, unless told otherwise, and reads the reply.
    func call<Reply: WireBody>(
        _ endpoint: Endpoint, in database: WireDatabase = .private, _ request: some WireBody,
        headers: [HubRequest.Header] = [], as user: HubAccounts.SignedInUser? = nil,
        mayBeWrong: Bool = false
    ) async throws -> Reply {
        let (status, body) = await send(
            endpoint, in: database, as: user ?? ada, headers: headers, body: request.body(),
            mayBeWrong: mayBeWrong)
        guard status == 200 else { throw try WireError(body: body) }
        return try Reply(body: body)
    }

    /// Makes zones of Ada's.
    func makeZones(_ names: String...) async throws {
        let _: ZonesResponse = try await call(
            .modifyZones,
            ModifyZonesRequest(operations: names.map { .init(.create, WireZoneID($0)) }))
    }

    /// Carries out operations of Ada in the zone `z`.
    func modify(
        _ operations: WireRecordOperation..., atomic: Bool = false, zone: String? = "z",
        headers: [HubRequest.Header] = []
    ) async throws -> [WireItem<WireRecord>] {
        let request = ModifyRecordsRequest(
            operations: operations, zoneID: zone.map { WireZoneID($0) }, isAtomic: atomic)
        let reply: RecordsResponse = try await call(.modifyRecords, request, headers: headers)
        return reply.records
    }

    /// What is wrong with the space that databases are said to take up, by a count of all records, and
    /// with the answers that they keep.
    func wrongSpace() throws -> [String] {
        try hub.storage.readHere { transaction in
            try transaction.wrongSpace() + transaction.wrongAnswers()
        }
    }

    /// Where the private database of a user is, which was used before.
    func partition(of user: HubAccounts.SignedInUser) throws -> Partition {
        try hub.storage.readHere { transaction in
            let realm = try transaction.realm(
                HubAccounts.Realm(Self.container, environment: "development")
            ).number
            let name = DatabaseName(realm: realm, scope: .private, user: user.userRecordName)
            return try #require(try transaction.partition(of: name))
        }
    }

    /// A record for an operation.
    static func record(
        _ name: String, tag: String? = nil, _ fields: [String: ServiceValue] = [:]
    ) -> WireRecord {
        var record = WireRecord(recordName: name, recordType: "T")
        record.recordChangeTag = tag
        record.fields = fields.mapValues { WireField($0) }
        return record
    }
}

extension HubLimits {
    /// What a busy machine is not held against.
    static var patient: HubLimits {
        var limits = HubLimits()
        limits.waitMilliseconds = 600_000
        return limits
    }
}

extension WireItem {
    /// The code of a failure; nil for a value.
    var code: String? {
        if case .failure(_, let error) = self { error.serverErrorCode } else { nil }
    }

    /// The value; nil for a failure.
    var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }
}

extension Endpoint {
    /// The calls that the hub has.
    static var allCases: [Endpoint] { HubEndpoint.all.map(\.path) }

    /// Whether the call may come without a body, by GET.
    var takesGet: Bool { HubEndpoint.at(self)?.takesGet ?? false }
}
