import CloudKitWire
import WireCrypto

extension HubAccounts {
    /// A user and the token that the user signs in with.
    public struct SignedInUser: Hashable, Sendable {
        /// The operator's name for the user.
        public var name: String
        /// The name in records: an underscore and 32 hexadecimal digits.
        public var userRecordName: String
        /// The secret.
        public var webAuthToken: String
    }

    /// A user.
    public struct User: Hashable, Sendable {
        /// The operator's name for the user.
        public var name: String
        /// The name in records: an underscore and 32 hexadecimal digits.
        public var userRecordName: String
        /// The e-mail address by which others find the user, if discoverable.
        public var emailAddress: String?
        /// Whether others get the user's name and find the user by the address.
        public var isDiscoverable: Bool
        /// Whether everything of the user is being erased; `removeUser` continues that.
        public var isErased: Bool

        init(_ row: UserRow) {
            (name, userRecordName) = (row.name, row.userRecordName)
            (emailAddress, isDiscoverable) = (row.emailAddress, row.isDiscoverable)
            isErased = row.isErased
        }
    }

    /// The changes of a user; nil for a property that stays.
    public struct UserChange: Hashable, Sendable {
        /// The operator's name for the user.
        public var name: String?
        /// The e-mail address by which others find the user; empty for none.
        public var emailAddress: String?
        /// Whether others get the user's name and find the user by the address.
        public var isDiscoverable: Bool?

        /// Nothing.
        public init() {}
    }

    /// The data that was erased with a user.
    public struct Erasure: Hashable, Sendable {
        /// The name in records.
        public var userRecordName = ""
        /// Sessions that were ended.
        public var sessions = 0
        /// Databases that were erased, with their files.
        public var databases = 0
        /// Entries of them.
        public var entries = 0
    }

    /// The users of an environment, by name.
    ///
    /// - Complexity: O(*n*) in them.
    public func users(_ container: String, environment: String) async throws -> [User] {
        let realm = Realm(container, environment: environment)
        return try await storage.read { transaction in
            transaction.expect { [.key(realm.key)] }
            let number = try transaction.realm(realm).number
            return try transaction.list(UserRow.prefix(realm: number), as: UserRow.self)
                .map { User($0.row) }.sorted { $0.name < $1.name }
        }
    }

    /// Makes a user, or finds the one of that name, and signs the user in.
    ///
    /// - Parameter lifetimeMilliseconds: How long the session lasts, used or not; nil for as long
    ///   as it is used, within the bounds of the hub.
    public func signIn(
        _ name: String, container: String, environment: String, emailAddress: String? = nil,
        lifetimeMilliseconds: Int64? = nil
    ) async throws -> SignedInUser {
        try await signIn(
            name, Realm(container, environment: environment), emailAddress: emailAddress,
            lifetimeMilliseconds: lifetimeMilliseconds, RequestWork())
    }

    /// As ``signIn(_:container:environment:emailAddress:lifetimeMilliseconds:)``, for a request.
    ///
    /// - Throws: ``WorkCancelled`` if the work had to end before it wrote.
    func signIn(
        _ name: String, _ realm: Realm, emailAddress: String? = nil,
        lifetimeMilliseconds: Int64? = nil, _ work: RequestWork
    ) async throws -> SignedInUser {
        try Self.checkName(name)
        let session = NewSession(configuration, lifetimeMilliseconds: lifetimeMilliseconds)
        let new = UserRow(userRecordName: newUserRecordName(), name: name, firstName: name)
        let limits = configuration.limits
        let sweep = sweeper.sweep(of: .global)
        let userRecordName = try await change(
            name, realm, new: new, work,
            expecting: { Expiry.expected(in: .global) }
        ) { user, realm, transaction in
            user.emailAddress = emailAddress ?? user.emailAddress
            try session.write(of: user.userRecordName, realm: realm, limits, transaction)
            try sweep(transaction)
            return user.userRecordName
        }
        return SignedInUser(name: name, userRecordName: userRecordName, webAuthToken: session.token)
    }

    private func newUserRecordName() -> String { "_" + configuration.clock.secret(16).hexadecimal }

    private static func checkName(_ name: String) throws {
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw HubError(.invalid, "A user has a name of 1 to 255 bytes.")
        }
    }

    /// Makes a user, who has no session yet.
    ///
    /// - Throws: A failure if there is one of that name.
    public func addUser(
        _ name: String, container: String, environment: String, _ change: UserChange = UserChange()
    ) async throws -> User {
        try Self.checkName(name)
        var new = UserRow(userRecordName: newUserRecordName(), name: name, firstName: name)
        new.take(change)
        let (row, realm) = (new, Realm(container, environment: environment))
        return try await write(expecting: { [.key(realm.key)] }) { transaction in
            let number = try transaction.realm(realm).number
            guard try transaction.user(named: name, realm) == nil else {
                throw HubError(.alreadyExists, "There is a user '\(name)' already.")
            }
            try transaction.put(row, realm: number)
            return User(row)
        }
    }

    /// Changes what is known of a user. Records and sessions stay as they are.
    public func changeUser(
        _ name: String, container: String, environment: String, _ wanted: UserChange
    ) async throws -> User {
        let realm = Realm(container, environment: environment)
        if let newName = wanted.name { try Self.checkName(newName) }
        return try await change(name, realm) { user, _, transaction in
            if let newName = wanted.name, newName != name,
                try transaction.user(named: newName, realm) != nil
            {
                throw HubError(.alreadyExists, "There is a user '\(newName)' already.")
            }
            user.take(wanted)
            return User(user)
        }
    }

    /// Changes the row of a user.
    ///
    /// - Parameters:
    ///   - new: What it is if there is none of that name; nil if there has to be one.
    ///   - queries: What the closure reads.
    private func change<R: Sendable>(
        _ name: String, _ realm: Realm, new: UserRow? = nil,
        _ work: RequestWork = RequestWork(),
        expecting queries: @escaping @Sendable () -> [KeyQuery] = { [] },
        _ body: @escaping @Sendable (inout UserRow, UInt32, any HubWriting) throws -> R
    ) async throws -> R {
        try await write(work, expecting: { [.key(realm.key)] + queries() }) { transaction in
            let number = try transaction.realm(realm).number
            let old = try transaction.user(named: name, realm)
            var user = try old ?? new ?? transaction.knownUser(named: name, realm)
            guard !user.isErased else {
                throw HubError(
                    .busy, "The user '\(name)' is being erased. Remove the user again to end that.")
            }
            let result = try body(&user, number, transaction)
            try transaction.put(user, realm: number, replacing: old)
            return result
        }
    }

    // MARK: Removing

    /// Removes a user with everything that is the user's: sessions, devices, subscriptions, the private
    /// database and its files. What the user wrote to the public database stays there, and names the
    /// user by the name in records.
    ///
    /// If it is interrupted, the user can't sign in; call it again to continue; a database whose
    /// name was taken away goes with later writes of the hub too.
    ///
    /// - Complexity: O(*n*) in the entries of the user and in the sessions of the hub.
    public func removeUser(
        _ name: String, container: String, environment: String
    ) async throws -> Erasure {
        let realm = Realm(container, environment: environment)
        defer { authentications.forgetAll() }
        return try await UserRemoval(
            configuration: configuration, storage: storage, deleter: deleter
        )
        .remove(name, realm)
    }

    /// Ends the sessions of a user, with the couriers of the devices.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*) in the sessions of the hub.
    public func endSessions(
        of name: String, container: String, environment: String
    ) async throws -> Int {
        let realm = Realm(container, environment: environment)
        let (number, user) = try await storage.read { transaction in
            let user = try transaction.knownUser(named: name, realm)
            return (try transaction.realm(realm).number, user.userRecordName)
        }
        defer { authentications.forgetAll() }
        return try await UserRemoval(
            configuration: configuration, storage: storage, deleter: deleter
        ).endSessions(of: user, realm: number)
    }

    /// Removes an environment of a container with all that it has: users, credentials, databases and
    /// files.
    ///
    /// If it is interrupted, call it again to continue.
    public func removeContainer(_ realm: Realm) async throws -> Erasure {
        var erasure = Erasure()
        for user in try await users(realm.container, environment: realm.environment) {
            let part = try await removeUser(
                user.name, container: realm.container, environment: realm.environment)
            erasure.sessions += part.sessions
            erasure.databases += part.databases
            erasure.entries += part.entries
        }
        let number = try await storage.read { try $0.realm(realm).number }
        for kind in [Credential.Kind.apiToken, .serverKey] {
            for credential in try await credentials(kind) where credential.realm == realm {
                _ = try await revoke(id: credential.id, of: [kind])
            }
        }
        let name = DatabaseName(realm: number, scope: .public, user: "")
        let now = configuration.now
        erasure.databases += try await write(expecting: { [.key(name.key), .key(realm.key)] }) {
            transaction in
            try transaction.delete(realm.key)
            guard let partition = try transaction.partition(of: name) else { return 0 }
            try transaction.delete(name.key)
            try transaction.put(DeletionRow.key(partition), DeletionRow(since: now))
            return 1
        }
        while case let count = try await deleter.eraseSome(), count > 0 { erasure.entries += count }
        return erasure
    }
}

extension UserRow {
    /// Takes over what is to be changed.
    fileprivate mutating func take(_ change: HubAccounts.UserChange) {
        if let name = change.name {
            if firstName == self.name { firstName = name }
            self.name = name
        }
        if let address = change.emailAddress { emailAddress = address.isEmpty ? nil : address }
        isDiscoverable = change.isDiscoverable ?? isDiscoverable
    }
}

extension HubReading {
    /// The user with a name that the operator of the hub chose.
    func user(named name: String, _ realm: HubAccounts.Realm) throws -> UserRow? {
        try users(.name(name), realm: self.realm(realm).number).first
    }

    /// The user whom the operator of the hub names; throws if there is no such user.
    ///
    /// - Complexity: O(*n*) in the users of the environment if the index has none of that name: a version
    ///   without it may have made the user.
    func knownUser(named name: String, _ realm: HubAccounts.Realm) throws -> UserRow {
        if let user = try user(named: name, realm) { return user }
        let all = UserRow.prefix(realm: try self.realm(realm).number)
        guard
            let user = try list(all, as: UserRow.self).map(\.row).first(where: { $0.name == name })
        else {
            throw HubError(.notFound, "There is no user '\(name)'. 'users list' has their names.")
        }
        return user
    }
}
