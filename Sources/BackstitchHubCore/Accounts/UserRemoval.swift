import CloudKitWire

/// Removes a user with everything that is the user's.
///
/// First the user is marked, and can't sign in any more; then sessions end, and what the user has in
/// databases of others goes; last, in one transaction, the names of the databases and the user. So it
/// can be cut anywhere and done again.
struct UserRemoval: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let deleter: Deleter

    func remove(
        _ name: String, _ realm: HubAccounts.Realm
    ) async throws -> HubAccounts.Erasure {
        let (user, number) = try await storage.write(
            to: [.global], expecting: { [.key(realm.key)] }
        ) { transaction in
            let number = try transaction.realm(realm).number
            var user = try transaction.knownUser(named: name, realm)
            user.isErased = true
            try transaction.put(UserRow.key(realm: number, user.userRecordName), user)
            return (user.userRecordName, number)
        }
        var erasure = HubAccounts.Erasure(userRecordName: user)
        erasure.sessions = try await endSessions(of: user, realm: number)
        try await removeSubscriptions(of: user, realm: number)
        erasure.databases = try await takeNames(of: user, realm: number)
        while case let count = try await deleter.eraseSome(), count > 0 { erasure.entries += count }
        return erasure
    }

    /// Ends the sessions of a user.
    ///
    /// - Returns: How many there were.
    func endSessions(of user: String, realm: UInt32) async throws -> Int {
        let keys = try await storage.read { transaction in
            try transaction.list(HubKey(.global, .webToken), as: WebTokenRow.self)
                .filter { $0.row.realm == realm && $0.row.userRecordName == user }.map(\.key)
        }
        guard !keys.isEmpty else { return 0 }
        return try await storage.write(to: [.global], expecting: { keys.map { .key($0) } }) {
            transaction in
            var count = 0
            for key in keys where try transaction.value(key) != nil {
                try transaction.delete(key)
                count += 1
            }
            return count
        }
    }

    private func removeSubscriptions(of user: String, realm: UInt32) async throws {
        let name = DatabaseName(realm: realm, scope: .public, user: "")
        let partition = try await storage.read { transaction in
            transaction.expect { [.key(name.key)] }
            return try transaction.partition(of: name)
        }
        guard let partition else { return }
        let prefix = SubscriptionRow.prefix(partition, user: user)
        let countMax = configuration.limits.subscriptionsPerUser + 1
        try await storage.write(
            to: [partition], expecting: { [.first(countMax, of: prefix)] }
        ) { transaction in
            for (key, row) in try transaction.list(prefix, as: SubscriptionRow.self)
            where row.userRecordName == user {
                try transaction.delete(key)
            }
        }
    }

    /// Takes the names of a user's databases away, and all else that the hub knows of the user.
    ///
    /// - Returns: How many databases there were.
    private func takeNames(of user: String, realm: UInt32) async throws -> Int {
        let names = [WireDatabase.private, .shared]
            .map { DatabaseName(realm: realm, scope: $0, user: user) }
        let devices = PushTokenRow.prefix(realm: realm, user: user)
        let devicesMax = configuration.limits.devicesPerUser
        let now = configuration.now
        return try await storage.write(
            to: [.global],
            expecting: {
                names.map { .key($0.key) } + [
                    .key(UserRow.key(realm: realm, user)),
                    .first(
                        devicesMax + 1, of: devices, naming: .key,
                        under: HubKey(.global, .pushToken)),
                ]
            }
        ) { transaction in
            for hash in try transaction.pushTokens(of: user, realm: realm) {
                try transaction.delete(PushTokenRow.key(hash: hash))
                try transaction.delete(devices.adding(hash))
            }
            var count = 0
            for name in names {
                guard let partition = try transaction.partition(of: name) else { continue }
                try transaction.delete(name.key)
                try transaction.put(DeletionRow.key(partition), DeletionRow(since: now))
                count += 1
            }
            try transaction.delete(PasswordRow.key(realm: realm, user))
            try transaction.deleteUser(user, realm: realm)
            return count
        }
    }
}
