import CloudKitWire

/// Who sends a request, as the credentials prove it.
enum Principal: Hashable, Sendable {
    /// Every client with the container's API token.
    case anonymous
    /// A user who is signed in.
    case user(String)
    /// The owner of a server key, who counts as this user.
    case server(String)

    /// The user to whom records are attributed; nil if there is no user.
    var userRecordName: String? {
        switch self {
        case .anonymous: nil
        case .user(let name), .server(let name): name
        }
    }
}

/// The right to use one database. Only authentication makes one, so that no name in a path or a body
/// leads to another user's records.
struct DatabaseAccess: Hashable, Sendable {
    let realm: RealmRow
    let scope: Scope
    let principal: Principal
    /// Where the database is.
    let partition: Partition

    enum Scope: Hashable, Sendable {
        case everybodys
        /// The private database of the user.
        case own(String)
        /// The zones of others that the user takes part in. Sharing is not supported, so no request
        /// has this scope.
        case sharedWith(String)

        /// By what the database is known in a realm.
        func name(in realm: RealmRow) -> DatabaseName {
            switch self {
            case .everybodys: DatabaseName(realm: realm.number, scope: .public, user: "")
            case .own(let user): DatabaseName(realm: realm.number, scope: .private, user: user)
            case .sharedWith(let user):
                DatabaseName(realm: realm.number, scope: .shared, user: user)
            }
        }
    }

    /// By what the database is known.
    var name: DatabaseName { scope.name(in: realm) }

    /// The row of the user whose database it is; nil for everybody's.
    var userKey: HubKey? {
        switch scope {
        case .everybodys: nil
        case .own(let user), .sharedWith(let user): UserRow.key(realm: realm.number, user)
        }
    }

    /// Whether zones can be made in it.
    var hasCustomZones: Bool {
        if case .own = scope { true } else { false }
    }

    var isPublic: Bool { scope == .everybodys }

    /// Whom the records that it writes are attributed to; nil if it may only read.
    var author: String? { principal.userRecordName }
}
