import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// What whoever runs a hub does: containers, users and credentials. Secrets are told once, when they
/// are made; the hub keeps their SHA-256.
extension Hub {
    /// A user and the token that the user signs in with.
    public struct SignedInUser: Hashable, Sendable {
        /// The name that whoever runs the hub knows the user by.
        public var name: String
        /// The name in records: an underscore and 32 hexadecimal digits.
        public var userRecordName: String
        /// The secret.
        public var webAuthToken: String
    }

    /// Two weeks, as when somebody stays signed in with Apple, in milliseconds.
    public static let webTokenMilliseconds: Int64 = 14 * 24 * 3_600 * 1_000

    /// Makes an environment of a container; nothing happens if it is there.
    ///
    /// - Throws: A failure whose message says what is wrong with the names.
    public func makeContainer(_ container: String, environment: String) async throws {
        guard ServiceNames.isRecordName(container), !container.contains("/") else {
            throw HubFailure(
                "'\(container)' is no name of a container, such as iCloud.com.example.")
        }
        guard environment == "development" || environment == "production" else {
            throw HubFailure("The environment is development or production.")
        }
        try await storage.write(to: [.global]) { transaction in
            let key = RealmRow.key(container: container, environment: environment)
            guard try transaction.value(key) == nil else { return }
            var state = try transaction.state()
            state.lastRealm += 1
            try transaction.put(StateRow.key, state)
            try transaction.put(
                key,
                RealmRow(
                    number: state.lastRealm, container: container, environment: environment))
        }
    }

    /// Makes an API token: 64 hexadecimal digits.
    ///
    /// - Parameter label: What it is for; listed with its hash.
    public func makeAPIToken(
        _ container: String, environment: String, label: String = ""
    ) async throws -> String {
        let token = configuration.clock.secret(32).hexadecimal
        try await storage.write(to: [.global]) { transaction in
            let realm = try transaction.realm(container, environment)
            try transaction.put(
                APITokenRow.key(token), APITokenRow(realm: realm.number, label: label))
        }
        return token
    }

    /// Makes a user, or finds the one of that name, and signs the user in.
    ///
    /// - Parameter lifetimeMilliseconds: How long the token is good.
    public func signIn(
        _ name: String, container: String, environment: String, emailAddress: String? = nil,
        lifetimeMilliseconds: Int64 = Hub.webTokenMilliseconds
    ) async throws -> SignedInUser {
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw HubFailure("A user has a name of 1 to 255 bytes.")
        }
        let token = Data(configuration.clock.secret(32)).base64EncodedString()
        let newName = "_" + configuration.clock.secret(16).hexadecimal
        let expires = now + lifetimeMilliseconds
        let sweep = sweep(of: .global)
        let forgotten = expires + configuration.limits.endedSessionMilliseconds
        let userRecordName = try await storage.write(to: [.global]) { transaction in
            let realm = try transaction.realm(container, environment)
            var user =
                try transaction.user(named: name, realm)
                ?? UserRow(userRecordName: newName, name: name, firstName: name)
            user.emailAddress = emailAddress ?? user.emailAddress
            try transaction.put(UserRow.key(realm: realm.number, user.userRecordName), user)
            try transaction.put(
                WebTokenRow.key(token),
                WebTokenRow(
                    realm: realm.number, userRecordName: user.userRecordName, expires: expires))
            try transaction.noteExpiry(of: WebTokenRow.key(token), at: forgotten)
            try sweep(transaction)
            return user.userRecordName
        }
        return SignedInUser(name: name, userRecordName: userRecordName, webAuthToken: token)
    }

    /// Takes a public key whose owner signs requests.
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
            throw HubFailure(error.message)
        }
        guard !key.isPrivate else {
            throw HubFailure("This is the private key. Keep it, and give the public one.")
        }
        let id = configuration.clock.secret(32).hexadecimal
        let userRecordName = "_" + configuration.clock.secret(16).hexadecimal
        try await storage.write(to: [.global]) { transaction in
            let realm = try transaction.realm(container, environment)
            try transaction.put(
                ServerKeyRow.key(id: id),
                ServerKeyRow(
                    realm: realm.number, publicPEM: key.publicPEM, userRecordName: userRecordName,
                    label: label))
            try transaction.put(
                UserRow.key(realm: realm.number, userRecordName),
                UserRow(userRecordName: userRecordName, name: "key \(id.prefix(8))"))
        }
        return id
    }

    /// Makes a credential stop working.
    ///
    /// - Parameter secret: An API token, a web token or the id of a server key.
    /// - Returns: Whether there was one.
    public func revoke(_ secret: String) async throws -> Bool {
        let keys = [
            APITokenRow.key(secret), WebTokenRow.key(secret),
            ServerKeyRow.key(id: String(secret.prefix(128))),
        ]
        // Also if nobody knows whether it was done.
        defer { authentications.forgetAll() }
        return try await storage.write(to: [.global]) { transaction in
            var wasThere = false
            for key in keys where try transaction.value(key) != nil {
                try transaction.delete(key)
                wasThere = true
            }
            return wasThere
        }
    }

    /// The names of the users of an environment, in order, each with the name in records.
    public func users(
        _ container: String, environment: String
    ) async throws -> [(name: String, userRecordName: String)] {
        try await storage.read { transaction in
            let realm = try transaction.realm(container, environment)
            return try transaction.rows(
                under: UserRow.prefix(realm: realm.number), as: UserRow.self
            )
            .map { ($0.row.name, $0.row.userRecordName) }
            .sorted { $0.name < $1.name }
        }
    }
}

extension HubReading {
    /// An environment of a container.
    func realm(_ container: String, _ environment: String) throws -> RealmRow {
        let key = RealmRow.key(container: container, environment: environment)
        guard let realm: RealmRow = try row(key) else {
            throw HubFailure(
                "The hub has no container '\(container)' with the environment '\(environment)'. "
                    + "Make it first.")
        }
        return realm
    }

    /// The user whom whoever runs the hub knows by a name.
    func user(named name: String, _ realm: RealmRow) throws -> UserRow? {
        try rows(under: UserRow.prefix(realm: realm.number), as: UserRow.self)
            .map(\.row).first { $0.name == name }
    }
}
