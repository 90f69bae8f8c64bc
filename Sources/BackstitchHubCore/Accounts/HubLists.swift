import CloudKitWire
import Foundation

/// Lists in pages, for whoever looks at a hub that is large. The order is that of the keys.
package struct HubLists: Sendable {
    let storage: any HubStorage
    let configuration: HubConfiguration

    /// Some rows of a list.
    package struct Page<Row: Sendable>: Sendable {
        package var rows: [Row]
        /// What to ask for to go on; nil at the end.
        package var next: String?
    }

    /// A user, with what the user's database takes up.
    package struct User: Sendable {
        package let user: HubAccounts.User
        package let bytes: Int64
    }

    /// A database of an environment.
    package struct Database: Sendable {
        /// `public` or `private`.
        package let scope: String
        /// Whose it is; nil for the public one.
        package let userRecordName: String?
        package let userName: String?
        /// What its records and the files that they hold take up.
        package let bytes: Int64
        /// The zones that are there, ``zonesMax`` at most.
        package let zones: [Zone]
        package let hasMoreZones: Bool
    }

    /// A zone.
    package struct Zone: Sendable {
        package let name: String
        package let bytes: Int64
        /// How many changes there were.
        package let changes: UInt64
    }

    /// The most zones of a database that are listed.
    package static let zonesMax = 50

    /// Users of an environment.
    ///
    /// - Parameters:
    ///   - after: What the page before said.
    ///   - name: Gives the user of this name alone.
    package func users(
        of realm: HubAccounts.Realm, after: String? = nil, named name: String? = nil, count: Int
    ) async throws -> Page<User> {
        try await storage.read { transaction in
            let number = try transaction.realm(realm).number
            let page: Page<UserRow>
            if let name {
                page = Page(rows: try transaction.users(.name(name), realm: number))
            } else {
                page = try transaction.page(UserRow.prefix(realm: number), after: after, count)
            }
            let rows = try page.rows.map { row in
                let name = DatabaseName(realm: number, scope: .private, user: row.userRecordName)
                let database = try transaction.partition(of: name)
                    .flatMap { try transaction.row(DatabaseRow.key($0), as: DatabaseRow.self) }
                return User(user: HubAccounts.User(row), bytes: database?.bytes ?? 0)
            }
            return Page(rows: rows, next: page.next)
        }
    }

    /// Databases of an environment, the public one last.
    ///
    /// - Parameter after: What the page before said.
    package func databases(
        of realm: HubAccounts.Realm, after: String? = nil, count: Int
    ) async throws -> Page<Database> {
        try await storage.read { transaction in
            let number = try transaction.realm(realm).number
            let names = HubKey(.global, .databaseName).adding(number)
            let page: Page<DatabaseNameRow> = try transaction.page(names, after: after, count)
            let rows = try page.rows.compactMap { named -> Database? in
                let partition = named.partition
                guard let row: DatabaseRow = try transaction.row(DatabaseRow.key(partition)) else {
                    return nil
                }
                let user = try transaction.row(
                    UserRow.key(realm: number, row.name.user), as: UserRow.self)
                let zones: Page<ZoneRow> = try transaction.page(
                    HubKey(partition, .zone), after: nil, Self.zonesMax)
                let isPublic = row.name.scope == .public
                return Database(
                    scope: row.name.scope.rawValue,
                    userRecordName: isPublic ? nil : row.name.user, userName: user?.name,
                    bytes: row.bytes,
                    zones: zones.rows.filter { !$0.isDeleted }.map {
                        Zone(name: $0.zoneName, bytes: $0.bytes, changes: $0.sequence)
                    }, hasMoreZones: zones.next != nil)
            }
            return Page(rows: rows, next: page.next)
        }
    }

    /// Credentials of all environments that count.
    ///
    /// - Parameter after: What the page before said.
    package func credentials(
        _ kind: HubAccounts.Credential.Kind, after: String? = nil, count: Int
    ) async throws -> Page<HubAccounts.Credential> {
        let (limits, now) = (configuration.limits, configuration.now)
        return try await storage.read { transaction in
            let keys = try transaction.keys(HubKey(.global, kind.table), after: after, count)
            let realms = try transaction.realms()
            let rows = try keys.rows.compactMap { key -> HubAccounts.Credential? in
                guard let value = try transaction.value(key),
                    var found = try HubAccounts.Credential(
                        kind, key, value, realms, limits, now: now)
                else { return nil }
                let user = found.userRecordName.map { UserRow.key(realm: found.realmNumber, $0) }
                found.userName = try user.flatMap {
                    try transaction.row($0, as: UserRow.self)?.name
                }
                return found
            }
            return Page(rows: rows, next: keys.next)
        }
    }
}

extension HubReading {
    /// Keys under a prefix.
    ///
    /// - Parameter after: The last key of the page before, behind the prefix, in Base64.
    fileprivate func keys(
        _ prefix: HubKey, after: String?, _ count: Int
    ) throws -> HubLists.Page<HubKey> {
        let start = try after.map { text in
            guard let bytes = Data(base64Encoded: text),
                prefix.bytes.count + bytes.count < HubKey.byteCountMax
            else { throw HubError(.invalid, "There is no such page. Begin with the first.") }
            return prefix.adding(bytes).adding([0])
        }
        var found: [HubKey] = []
        try unsafe scanInParts(prefix, from: start, countMax: count + 1) { key, _ in
            unsafe found.append(HubKey(bytes: key))
            return found.count <= count
        }
        guard found.count > count else { return HubLists.Page(rows: found) }
        found.removeLast()
        let next = found.last.map {
            Data($0.bytes.dropFirst(prefix.bytes.count)).base64EncodedString()
        }
        return HubLists.Page(rows: found, next: next)
    }

    /// Rows under a prefix; as ``keys(_:after:_:)``.
    fileprivate func page<Row: HubRow & Sendable>(
        _ prefix: HubKey, after: String?, _ count: Int
    ) throws -> HubLists.Page<Row> {
        let page = try keys(prefix, after: after, count)
        return HubLists.Page(rows: try page.rows.compactMap { try row($0) }, next: page.next)
    }
}
