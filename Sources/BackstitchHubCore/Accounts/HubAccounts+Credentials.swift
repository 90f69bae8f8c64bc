import CloudKitWire
import WireCrypto

extension HubAccounts {
    /// A session, API token or server key, as far as the hub knows it.
    public struct Credential: Hashable, Sendable {
        /// The kind of a credential.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A user's, who is signed in.
            case session
            /// An API token.
            case apiToken
            /// A server's key.
            case serverKey

            /// Where the hub has them.
            var table: HubKey.Table {
                switch self {
                case .session: .webToken
                case .apiToken: .apiToken
                case .serverKey: .serverKey
                }
            }
        }

        /// The kind of credential.
        public var kind: Kind
        /// Identifies the credential without granting access: 16 hexadecimal digits.
        public var id: String
        /// Where it counts.
        public var realm: Realm
        /// Its purpose, as the operator named it; empty for a session.
        public var label = ""
        /// The name in records of the user whom it is of; nil of an API token.
        public var userRecordName: String?
        /// The operator's name for that user.
        public var userName: String?
        /// When the user signed in, in milliseconds since 1970; nil of others.
        public var created: Int64?
        /// When a session was last used, to about a day, in milliseconds since 1970; nil if it was
        /// not used after its first days.
        public var used: Int64?
        /// When a session ends unless it is used, in milliseconds since 1970; nil of others.
        public var ends: Int64?
        /// The origins of web pages that the sign-in page hands tokens to; of an API token.
        public var origins: [String] = []
        /// Where the sign-in page sends users in place of that; of an API token.
        public var callback: String?
        fileprivate var key: HubKey
        private(set) var realmNumber: UInt32

        /// A credential by its row; nil of a session that has ended.
        init?(
            _ kind: Kind, _ key: HubKey, _ value: [UInt8], _ realms: [UInt32: Realm],
            _ limits: HubLimits, now: Int64
        ) throws {
            (self.kind, self.key) = (kind, key)
            var id = key.behindTable.hexadecimal
            switch kind {
            case .session:
                let row = try WebTokenRow(stored: value)
                let ends = row.idleEnd(limits)
                guard ends > now else { return nil }
                (created, used, self.ends) = (row.created, row.used, ends)
                (userRecordName, realmNumber) = (row.userRecordName, row.realm)
            case .apiToken:
                let row = try APITokenRow(stored: value)
                (label, origins, callback) = (row.label, row.origins, row.callback)
                realmNumber = row.realm
            case .serverKey:
                let row = try ServerKeyRow(stored: value)
                id = String(decoding: key.behindTable, as: UTF8.self)
                (label, userRecordName) = (row.label, row.userRecordName)
                realmNumber = row.realm
            }
            self.id = String(id.prefix(HubAccounts.idDigits))
            realm = realms[realmNumber] ?? Realm("", environment: "")
        }
    }

    /// How many hexadecimal digits of its hash, or of the id of a server key, tell a credential.
    fileprivate static let idDigits = 16

    /// The id that a list has of an API token.
    public static func id(ofAPIToken token: String) -> String {
        String(Digest.sha256(token).hexadecimal.prefix(idDigits))
    }

    /// The credentials of a kind, by container and user.
    ///
    /// - Complexity: O(*n*) in them and in the users.
    public func credentials(_ kind: Credential.Kind) async throws -> [Credential] {
        let (limits, now) = (configuration.limits, configuration.now)
        return try await storage.read { transaction in
            let realms = try transaction.realms()
            let users = Dictionary(
                try transaction.list(HubKey(.global, .user), as: UserRow.self)
                    .map { ($0.row.userRecordName, $0.row.name) }, uniquingKeysWith: { $1 })
            var found: [Credential] = []
            try unsafe transaction.scanInParts(HubKey(.global, kind.table)) { key, value in
                let credential = try unsafe Credential(
                    kind, HubKey(bytes: key), Array(value), realms, limits, now: now)
                if var credential {
                    credential.userName = credential.userRecordName.flatMap { users[$0] }
                    found.append(credential)
                }
                return true
            }
            return found.sorted {
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

    /// Labels an API token or a server key.
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

extension HubReading {
    /// The environments of containers, by their numbers.
    func realms() throws -> [UInt32: HubAccounts.Realm] {
        Dictionary(
            try list(HubKey(.global, .realm), as: RealmRow.self).map {
                ($0.row.number, .init($0.row.container, environment: $0.row.environment))
            }, uniquingKeysWith: { $1 })
    }
}
