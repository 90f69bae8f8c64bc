import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// The operator's side of a hub: containers, users and credentials. Secrets are told once, when
/// they are made; the hub keeps their SHA-256.
///
/// Other processes may do this while one serves; the serving one notices at once.
public struct HubAccounts: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let sweeper: ExpirySweeper
    let deleter: Deleter
    let authentications: AuthenticationCache

    /// An environment of a container.
    public struct Realm: Hashable, Sendable {
        /// The name of the container, such as `iCloud.com.example`.
        public var container: String
        /// `development` or `production`.
        public var environment: String

        /// An environment by its parts.
        public init(_ container: String, environment: String) {
            self.container = container
            self.environment = environment
        }

        var key: HubKey { RealmRow.key(container: container, environment: environment) }
    }

    /// Lists of what there is, in pages.
    package var lists: HubLists { HubLists(storage: storage, configuration: configuration) }

    /// Writes to the shared part of the hub's data. The queries say in advance which entries the write reads.
    func write<R: Sendable>(
        _ work: RequestWork = RequestWork(),
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        // Also if it is unknown whether the write was committed.
        defer { authentications.forgetAll() }
        return try await storage.write(work, to: [.global], expecting: queries, body)
    }

    // MARK: Containers

    /// Makes an environment of a container; nothing happens if it is there.
    ///
    /// - Throws: A failure whose message says what is wrong with the names.
    public func makeContainer(_ container: String, environment: String) async throws {
        let realm = Realm(container, environment: environment)
        try Self.check(realm)
        try await write(expecting: { [.key(realm.key), .key(StateRow.key)] }) { transaction in
            guard try transaction.value(realm.key) == nil else { return }
            var state = try transaction.state()
            state.lastRealm += 1
            try transaction.put(StateRow.key, state)
            try transaction.put(
                realm.key,
                RealmRow(
                    number: state.lastRealm, container: container, environment: environment))
        }
    }

    private static func check(_ realm: Realm) throws {
        guard ServiceNames.isRecordName(realm.container), !realm.container.contains("/") else {
            throw HubError(
                .invalid,
                "'\(realm.container)' is no name of a container, such as iCloud.com.example.")
        }
        guard ["development", "production"].contains(realm.environment) else {
            throw HubError(.invalid, "The environment is development or production.")
        }
    }

    /// The environments of containers, in order.
    public func containers() async throws -> [Realm] {
        try await storage.read { transaction in
            try transaction.list(HubKey(.global, .realm), as: RealmRow.self)
                .map { Realm($0.row.container, environment: $0.row.environment) }
        }
    }

    /// Renames a container; its clients must use the new name from then on.
    public func renameContainer(_ realm: Realm, to container: String) async throws {
        let new = Realm(container, environment: realm.environment)
        try Self.check(new)
        try await write(expecting: { [.key(realm.key), .key(new.key)] }) { transaction in
            var row = try transaction.realm(realm)
            guard try transaction.value(new.key) == nil else {
                throw HubError(.alreadyExists, "There is a container '\(container)' already.")
            }
            row.container = container
            try transaction.delete(realm.key)
            try transaction.put(new.key, row)
        }
    }

    // MARK: API tokens

    /// Makes an API token: 64 hexadecimal digits.
    ///
    /// - Parameter label: What it is for; listed with its hash.
    public func makeAPIToken(
        _ container: String, environment: String, label: String = ""
    ) async throws -> String {
        let token = configuration.clock.secret(32).hexadecimal
        let realm = Realm(container, environment: environment)
        try await write(expecting: { [.key(realm.key)] }) { transaction in
            let row = APITokenRow(realm: try transaction.realm(realm).number, label: label)
            try transaction.put(APITokenRow.key(token), row)
        }
        return token
    }

    // MARK: Server keys

    /// Adds a public key whose owner signs requests.
    ///
    /// - Parameter publicPEM: The public key, ECDSA on P-256, in PEM.
    /// - Returns: The key's id: 64 hexadecimal digits.
    public func addServerKey(
        _ publicPEM: String, container: String, environment: String, label: String = ""
    ) async throws -> String {
        let key: SigningKey
        do throws(KeyError) {
            key = try SigningKey(pem: publicPEM)
        } catch {
            throw HubError(.invalid, error.message)
        }
        guard !key.isPrivate else {
            throw HubError(.invalid, "This is the private key. Keep it, and give the public one.")
        }
        let id = configuration.clock.secret(32).hexadecimal
        let userRecordName = "_" + configuration.clock.secret(16).hexadecimal
        let realm = Realm(container, environment: environment)
        try await write(expecting: { [.key(realm.key)] }) { transaction in
            let number = try transaction.realm(realm).number
            try transaction.put(
                ServerKeyRow.key(id: id),
                ServerKeyRow(
                    realm: number, publicPEM: key.publicPEM, userRecordName: userRecordName,
                    label: label))
            try transaction.put(
                UserRow(userRecordName: userRecordName, name: "key \(id.prefix(8))"), realm: number)
        }
        return id
    }
}

extension HubReading {
    /// An environment of a container.
    func realm(_ realm: HubAccounts.Realm) throws -> RealmRow {
        guard let row: RealmRow = try row(realm.key) else {
            throw HubError(
                .notFound,
                "The hub has no container '\(realm.container)' with the environment "
                    + "'\(realm.environment)'. Make it first.")
        }
        return row
    }

    /// The rows under a prefix, however many, with their keys.
    func list<Row: HubRow>(
        _ prefix: HubKey, as type: Row.Type = Row.self
    ) throws -> [(key: HubKey, row: Row)] {
        var rows: [(key: HubKey, row: Row)] = []
        try unsafe scanInParts(prefix) { key, value in
            unsafe rows.append((HubKey(bytes: key), try Row(stored: Array(value))))
            return true
        }
        return rows
    }
}
