/// A call of the protocol, by the end of its path.
///
/// Those that the client makes have names here. The hub has a table of those that it answers, whose rows
/// may give the path of any other.
package struct Endpoint: RawRepresentable, ExpressibleByStringLiteral, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(stringLiteral path: String) { rawValue = path }

    package static let queryRecords: Self = "records/query"
    package static let lookupRecords: Self = "records/lookup"
    package static let modifyRecords: Self = "records/modify"
    package static let recordChanges: Self = "records/changes"
    package static let databaseChanges: Self = "changes/database"
    package static let zoneChanges: Self = "changes/zone"
    package static let listZones: Self = "zones/list"
    package static let lookupZones: Self = "zones/lookup"
    package static let modifyZones: Self = "zones/modify"
    package static let zonesChanges: Self = "zones/changes"
    package static let listSubscriptions: Self = "subscriptions/list"
    package static let lookupSubscriptions: Self = "subscriptions/lookup"
    package static let modifySubscriptions: Self = "subscriptions/modify"
    package static let currentUser: Self = "users/current"
    package static let caller: Self = "users/caller"
    package static let discoverUsers: Self = "users/discover"
    package static let lookupUsersByEmail: Self = "users/lookup/email"
    package static let lookupUsersByID: Self = "users/lookup/id"
    package static let lookupContacts: Self = "users/lookup/contacts"
    package static let uploadAssets: Self = "assets/upload"
    package static let rereferenceAssets: Self = "assets/rereference"
    package static let createToken: Self = "tokens/create"
    package static let registerToken: Self = "tokens/register"

    /// Whether the path names no database.
    package var isOfDevice: Bool { rawValue.hasPrefix("tokens/") }
}

/// Which database a call is about.
package enum WireDatabase: String, Hashable, Sendable, CaseIterable {
    case `public`
    case `private`
    case shared
}

/// The path of a call.
///
/// ```
/// /database/1/{container}/{environment}/{database}/{endpoint}
/// /device/1/{container}/{environment}/{endpoint}
/// ```
package struct WirePath: Hashable, Sendable {
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// Nil for calls about devices.
    package var database: WireDatabase?
    package var endpoint: Endpoint

    package init(
        container: String, environment: String, database: WireDatabase?, endpoint: Endpoint
    ) {
        self.container = container
        self.environment = environment
        self.database = database
        self.endpoint = endpoint
    }

    /// Reads a path, whatever call it ends with; nil if it does not begin as the protocol's do.
    package init?(_ path: some StringProtocol) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.first?.isEmpty == true else { return nil }
        self.init(parts: parts[1...].map { String($0) })
    }

    /// Reads a path by the parts after its slashes, as above.
    package init?(parts: [String]) {
        guard parts.count >= 5, parts[1] == "1" else { return nil }
        let first: Int
        switch parts[0] {
        case "device":
            (database, first) = (nil, 4)
        case "database":
            // The reference has the calls about devices here too, without a database.
            if parts.count == 6, parts[4] == "tokens" {
                (database, first) = (nil, 4)
            } else {
                guard let database = WireDatabase(rawValue: parts[4]) else { return nil }
                (self.database, first) = (database, 5)
            }
        default: return nil
        }
        container = parts[2]
        environment = parts[3]
        guard environment == "development" || environment == "production" else { return nil }
        endpoint = Endpoint(rawValue: parts[first...].joined(separator: "/"))
        guard endpoint.isOfDevice == (database == nil) else { return nil }
    }

    /// The path as text.
    package var text: String {
        let start = "/1/\(container)/\(environment)/"
        guard let database else { return "/device" + start + endpoint.rawValue }
        return "/database" + start + database.rawValue + "/" + endpoint.rawValue
    }
}
