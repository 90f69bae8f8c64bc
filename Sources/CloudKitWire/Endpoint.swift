/// The calls of the protocol, by the end of their paths.
package enum Endpoint: String, Hashable, Sendable, CaseIterable {
    case queryRecords = "records/query"
    case lookupRecords = "records/lookup"
    case modifyRecords = "records/modify"
    case recordChanges = "records/changes"
    case resolveRecords = "records/resolve"
    case acceptRecords = "records/accept"
    case databaseChanges = "changes/database"
    case zoneChanges = "changes/zone"
    case listZones = "zones/list"
    case lookupZones = "zones/lookup"
    case modifyZones = "zones/modify"
    case zonesChanges = "zones/changes"
    case listSubscriptions = "subscriptions/list"
    case lookupSubscriptions = "subscriptions/lookup"
    case modifySubscriptions = "subscriptions/modify"
    case currentUser = "users/current"
    case caller = "users/caller"
    case discoverUsers = "users/discover"
    case lookupUsersByEmail = "users/lookup/email"
    case lookupUsersByID = "users/lookup/id"
    case lookupContacts = "users/lookup/contacts"
    case uploadAssets = "assets/upload"
    case rereferenceAssets = "assets/rereference"
    case createToken = "tokens/create"
    case registerToken = "tokens/register"

    /// Whether the call may come without a body, by GET.
    package var takesGet: Bool {
        switch self {
        case .listZones, .listSubscriptions, .currentUser, .caller, .discoverUsers,
            .lookupContacts:
            true
        default: false
        }
    }

    /// Whether the path names no database.
    package var isOfDevice: Bool { self == .createToken || self == .registerToken }
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

    /// Reads a path; nil where it is none of the protocol's.
    package init?(_ path: some StringProtocol) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.first?.isEmpty == true else { return nil }
        self.init(parts: parts[1...].map { String($0) })
    }

    /// Reads a path by the parts behind its slashes; nil where it is none of the protocol's.
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
        guard let endpoint = Endpoint(rawValue: parts[first...].joined(separator: "/")),
            endpoint.isOfDevice == (database == nil)
        else { return nil }
        self.endpoint = endpoint
    }

    /// The path as text.
    package var text: String {
        let start = "/1/\(container)/\(environment)/"
        guard let database else { return "/device" + start + endpoint.rawValue }
        return "/database" + start + database.rawValue + "/" + endpoint.rawValue
    }
}
