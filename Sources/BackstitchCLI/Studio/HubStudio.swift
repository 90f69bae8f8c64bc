import Backstitch
import BackstitchHub
import BackstitchHubCore
import BackstitchStudio
import Foundation
import Terminal

/// Answers the calls of Studio's page from a hub's folder, which a hub may serve meanwhile.
final class HubStudio: StudioSource {
    /// The most rows of an answer.
    private static let rowsMax = 100
    /// Counting ends here: a page says "more than".
    private static let countMax = 10_000

    private let hub: Hub
    private let path: String
    private let allowsWrites: Bool
    private let version: String
    /// Writes a line of the audit log.
    private let audit: @Sendable (String) -> Void
    private let folder: HubFolder
    private let watch = StudioWatch()

    init(
        hub: Hub, path: String, allowsWrites: Bool, version: String,
        audit: @escaping @Sendable (String) -> Void
    ) {
        self.audit = audit
        (self.hub, self.path, self.allowsWrites) = (hub, path, allowsWrites)
        self.version = version
        folder = HubFolder(path)
    }

    /// The name that destructive actions have to repeat.
    private var name: String { URL(filePath: path).lastPathComponent }

    func session() throws -> String {
        try JSON.line(
            StudioDocument.Session(
                kind: "hub", name: name, path: path, writable: allowsWrites, version: version))
    }

    func message(of error: any Error) -> String {
        (error as? UsageError)?.message ?? Failure.describe(error)
    }

    func stop() { watch.stop() }

    func answer(_ call: StudioCall) async throws -> StudioAnswer {
        .json(call.isAction ? try await act(call) : try await read(call))
    }

    private func read(_ call: StudioCall) async throws -> String {
        switch call.name {
        // The name that the first page has for what it shows, whatever that is.
        case "entities": return try JSON.line(try await containers())
        case "hub": return try JSON.line(try await overview())
        case "users": return try JSON.line(try await users(call))
        case "databases": return try JSON.line(try await databases(call))
        case "sessions": return try JSON.line(try await credentials(.session, call))
        case "tokens": return try JSON.line(try await credentials(.apiToken, call))
        case "keys": return try JSON.line(try await credentials(.serverKey, call))
        case "requests":
            return "[" + folder.slowRequests.reversed().joined(separator: ",") + "]"
        case "changes": return try JSON.line(try await changes(call))
        default: throw StudioError(404, "There is no call '\(call.name.printable)'.")
        }
    }

    // MARK: Reading

    private func containers() async throws -> [HubListing.Container] {
        try await hub.accounts.containers().map { HubListing.Container($0) }
    }

    private func overview() async throws -> HubStudioDocument.Overview {
        var containers: [HubStudioDocument.Container] = []
        for realm in try await hub.accounts.containers() {
            let users = try await hub.accounts.lists.users(of: realm, count: Self.countMax)
            let databases = try await hub.accounts.lists.databases(of: realm, count: Self.countMax)
            containers.append(
                HubStudioDocument.Container(
                    container: realm.container, environment: realm.environment,
                    users: users.rows.count, hasMoreUsers: users.next != nil,
                    databases: databases.rows.count, hasMoreDatabases: databases.next != nil,
                    bytes: databases.rows.reduce(0) { $0 + $1.bytes }))
        }
        let sessions = try await hub.accounts.lists.credentials(.session, count: Self.countMax)
        return HubStudioDocument.Overview(
            containers: containers, sessions: sessions.rows.count,
            hasMoreSessions: sessions.next != nil,
            slowRequests: folder.slowRequests.count,
            fileBytes: Self.bytes(path + "/data.mdb") + Self.bytes(path + "/journal"),
            served: folder.isServed)
    }

    private static func bytes(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func users(_ call: StudioCall) async throws
        -> HubStudioDocument.Page<HubStudioDocument.User>
    {
        let realm = try await realm(call)
        let page = try await hub.accounts.lists.users(
            of: realm, after: call.text("after"), named: call.text("name"), count: Self.rowsMax)
        return HubStudioDocument.Page(
            rows: page.rows.map {
                HubStudioDocument.User(user: HubListing.User($0.user, realm), bytes: $0.bytes)
            }, next: page.next)
    }

    private func databases(
        _ call: StudioCall
    ) async throws -> HubStudioDocument.Page<HubStudioDocument.Database> {
        let page = try await hub.accounts.lists.databases(
            of: try await realm(call), after: call.text("after"), count: Self.rowsMax)
        return HubStudioDocument.Page(
            rows: page.rows.map(HubStudioDocument.Database.init), next: page.next)
    }

    private func credentials(
        _ kind: HubAccounts.Credential.Kind, _ call: StudioCall
    ) async throws -> HubStudioDocument.Page<HubListing.Credential> {
        let page = try await hub.accounts.lists.credentials(
            kind, after: call.text("after"), count: Self.rowsMax)
        return HubStudioDocument.Page(
            rows: page.rows.map { HubListing.Credential($0) }, next: page.next)
    }

    /// The environment that a call names; the first one unless it does.
    private func realm(_ call: StudioCall) async throws -> HubAccounts.Realm {
        if let container = call.text("container") {
            return HubAccounts.Realm(container, environment: try call.required("environment"))
        }
        guard let first = try await hub.accounts.containers().first else {
            throw StudioError(404, "The hub has no container yet.")
        }
        return first
    }

    /// Waits until something was written, or a request was slow, a while at most.
    private func changes(_ call: StudioCall) async throws -> StudioDocument.Moment {
        try await watch.wait(for: try StudioDocument.Moment(call)) {
            StudioDocument.Moment(
                lastSequence: folder.commitMark, engine: folder.slowRequestsMark)
        }
    }

    // MARK: Changing

    private func act(_ call: StudioCall) async throws -> String {
        guard allowsWrites else {
            throw StudioError(
                403, "Studio only reads. Start it with --allow-writes to change things.")
        }
        guard call.text("confirm") == name else {
            throw StudioError(409, "Confirm with the name of the hub: \(name.printable)")
        }
        guard call.name == "credentials/revoke" else {
            throw StudioError(404, "There is no action '\(call.name.printable)'.")
        }
        let revoked = try await hub.accounts.revoke(
            id: try call.required("id"), of: HubAccounts.Credential.Kind.allCases)
        if let revoked {
            audit(
                AuditEntry(
                    .credentialRevoked, container: revoked.realm.container,
                    environment: revoked.realm.environment, user: revoked.userRecordName
                ).line)
        }
        return try JSON.line(StudioDocument.Changed(changed: revoked != nil))
    }
}

/// What Studio's page gets of a hub, beside the lists of the command `hub`.
enum HubStudioDocument {
    struct Container: Encodable {
        let container: String
        let environment: String
        let users: Int
        let hasMoreUsers: Bool
        let databases: Int
        let hasMoreDatabases: Bool
        let bytes: Int64
    }

    struct Overview: Encodable {
        let containers: [Container]
        let sessions: Int
        let hasMoreSessions: Bool
        let slowRequests: Int
        let fileBytes: Int
        /// Whether a hub serves the folder now.
        let served: Bool
    }

    struct Page<Row: Encodable>: Encodable {
        let rows: [Row]
        /// What to ask for as `after` to go on; nil at the end.
        let next: String?
    }

    struct User: Encodable {
        let user: HubListing.User
        let bytes: Int64
    }

    struct Database: Encodable {
        struct Zone: Encodable {
            let name: String
            let bytes: Int64
            let changes: UInt64
        }

        let scope: String
        let user: String?
        let userRecordName: String?
        let bytes: Int64
        let zones: [Zone]
        let hasMoreZones: Bool

        init(_ database: HubLists.Database) {
            (scope, bytes) = (database.scope, database.bytes)
            (user, userRecordName) = (database.userName, database.userRecordName)
            zones = database.zones.map {
                Zone(name: $0.name, bytes: $0.bytes, changes: $0.changes)
            }
            hasMoreZones = database.hasMoreZones
        }
    }
}
