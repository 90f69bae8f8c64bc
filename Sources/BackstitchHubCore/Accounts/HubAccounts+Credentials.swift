import CloudKitWire
import WireCrypto

extension HubAccounts {
    /// A session, API token or server key, as far as the hub knows it.
    public struct Credential: Hashable, Sendable {
        /// What a credential is.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A user's, who is signed in.
            case session
            /// An API token.
            case apiToken
            /// A server's key.
            case serverKey
        }

        /// What it is.
        public var kind: Kind
        /// Tells it from others and opens nothing: 16 hexadecimal digits.
        public var id: String
        /// Where it counts.
        public var realm: Realm
        /// What it is for; empty of a session.
        public var label = ""
        /// The name in records of the user whom it is of; nil of an API token.
        public var userRecordName: String?
        /// The name that whoever runs the hub knows that user by.
        public var userName: String?
        /// When the user signed in, in milliseconds since 1970; nil of others, and of a session that an
        /// older version began.
        public var created: Int64?
        /// When a session that goes on was used last, to about a day, in milliseconds since 1970; nil if
        /// it was only used in the days after it began.
        public var used: Int64?
        /// When a session ends unless it is used, in milliseconds since 1970; nil of others.
        public var ends: Int64?
        fileprivate var key: HubKey
    }

    /// How many hexadecimal digits of its hash, or of the id of a server key, tell a credential.
    private static let idDigits = 16

    /// The credentials of a kind, by container and user.
    ///
    /// - Complexity: O(*n*) in them and in the users.
    public func credentials(_ kind: Credential.Kind) async throws -> [Credential] {
        let (limits, now) = (configuration.limits, configuration.now)
        return try await storage.read { transaction in
            let realms = Dictionary(
                try transaction.list(HubKey(.global, .realm), as: RealmRow.self).map {
                    ($0.row.number, Realm($0.row.container, environment: $0.row.environment))
                }, uniquingKeysWith: { $1 })
            let users = Dictionary(
                try transaction.list(HubKey(.global, .user), as: UserRow.self)
                    .map { ($0.row.userRecordName, $0.row.name) }, uniquingKeysWith: { $1 })
            func credential(_ key: HubKey, _ id: String, _ realm: UInt32) -> Credential {
                Credential(
                    kind: kind, id: String(id.prefix(Self.idDigits)),
                    realm: realms[realm] ?? Realm("", environment: ""), key: key)
            }
            let found: [Credential]
            switch kind {
            case .session:
                found = try transaction.list(HubKey(.global, .webToken), as: WebTokenRow.self)
                    .compactMap { key, row in
                        let ends = row.idleEnd(limits)
                        guard ends > now else { return nil }
                        var session = credential(key, key.behindTable.hexadecimal, row.realm)
                        (session.created, session.used) = (row.created, row.used)
                        session.ends = ends
                        session.userRecordName = row.userRecordName
                        return session
                    }
            case .apiToken:
                found = try transaction.list(HubKey(.global, .apiToken), as: APITokenRow.self)
                    .map { key, row in
                        var token = credential(key, key.behindTable.hexadecimal, row.realm)
                        token.label = row.label
                        return token
                    }
            case .serverKey:
                found = try transaction.list(HubKey(.global, .serverKey), as: ServerKeyRow.self)
                    .map { key, row in
                        let id = String(decoding: key.behindTable, as: UTF8.self)
                        var server = credential(key, id, row.realm)
                        (server.label, server.userRecordName) = (row.label, row.userRecordName)
                        return server
                    }
            }
            return found.map { credential in
                var credential = credential
                credential.userName = credential.userRecordName.flatMap { users[$0] }
                return credential
            }.sorted {
                ($0.realm.container, $0.realm.environment, $0.userName ?? "", $0.id)
                    < ($1.realm.container, $1.realm.environment, $1.userName ?? "", $1.id)
            }
        }
    }

    /// Makes a credential stop working. A session ends with all of its tokens and with the courier of its
    /// devices.
    ///
    /// - Parameter secret: An API token, a web token or the id of a server key.
    /// - Returns: Whether there was one.
    public func revoke(_ secret: String) async throws -> Bool {
        try await revoke([
            APITokenRow.key(secret), WebTokenRow.key(WebToken(secret).secret),
            ServerKeyRow.key(id: String(secret.prefix(128))),
        ]) > 0
    }

    /// As ``revoke(_:)``, by the id that a list has.
    ///
    /// - Returns: The credential that stopped working; nil if no credential has that id.
    public func revoke(id: String, of kinds: [Credential.Kind]) async throws -> Credential? {
        guard let credential = try await credential(id, of: kinds) else { return nil }
        return try await revoke([credential.key]) > 0 ? credential : nil
    }

    private func credential(
        _ id: String, of kinds: [Credential.Kind]
    ) async throws -> Credential? {
        let id = id.lowercased().prefix(Self.idDigits)
        for kind in kinds {
            let found = try await credentials(kind).first { $0.id == id }
            if let found { return found }
        }
        return nil
    }

    /// Says what an API token or a server key is for.
    ///
    /// - Returns: The credential with its new label; nil if no credential has that id.
    public func relabel(
        id: String, of kind: Credential.Kind, _ label: String
    ) async throws -> Credential? {
        guard var credential = try await credential(id, of: [kind]) else { return nil }
        let key = credential.key
        try await write(expecting: { [.key(key)] }) { transaction in
            switch kind {
            case .session: throw HubError(.invalid, "A session has no label.")
            case .apiToken:
                guard var row: APITokenRow = try transaction.row(key) else { return }
                row.label = label
                try transaction.put(key, row)
            case .serverKey:
                guard var row: ServerKeyRow = try transaction.row(key) else { return }
                row.label = label
                try transaction.put(key, row)
            }
        }
        credential.label = label
        return credential
    }

    private func revoke(_ keys: [HubKey]) async throws -> Int {
        try await write(expecting: { keys.map { .key($0) } }) { transaction in
            var count = 0
            for key in keys where try transaction.value(key) != nil {
                try transaction.delete(key)
                count += 1
            }
            return count
        }
    }
}
