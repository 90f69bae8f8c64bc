public import BackstitchCore

/// The kinds of request that a service takes.
public enum RequestKind: String, Hashable, Sendable, CaseIterable {
    /// `modifyRecords`.
    case modify
    /// `lookUpRecords`.
    case lookup
    /// `databaseChanges`.
    case databaseChanges
    /// `zoneChanges`.
    case zoneChanges
    /// `createZone`.
    case createZone
    /// `deleteZone`.
    case deleteZone
    /// `createSubscription`.
    case createSubscription
    /// `currentUser`.
    case currentUser

    /// Whether the request changes anything on the server.
    public var isWrite: Bool {
        switch self {
        case .modify, .createZone, .deleteZone, .createSubscription: true
        case .lookup, .databaseChanges, .zoneChanges, .currentUser: false
        }
    }
}

/// What a request asks for.
enum ServiceRequest: Sendable {
    case modify([RecordModification], zone: ZoneID, atomic: Bool, token: String?)
    case lookup([String], zone: ZoneID)
    case databaseChanges(token: String?)
    case zoneChanges(
        zone: ZoneID, token: String?, limit: Int, fields: Set<String>?, types: Set<String>?)
    case createZone(ZoneID)
    case deleteZone(ZoneID)
    case createSubscription(String, zone: ZoneID)
    case currentUser

    var kind: RequestKind {
        switch self {
        case .modify: .modify
        case .lookup: .lookup
        case .databaseChanges: .databaseChanges
        case .zoneChanges: .zoneChanges
        case .createZone: .createZone
        case .deleteZone: .deleteZone
        case .createSubscription: .createSubscription
        case .currentUser: .currentUser
        }
    }

    var zone: ZoneID? {
        switch self {
        case .modify(_, let zone, _, _), .lookup(_, let zone), .zoneChanges(let zone, _, _, _, _),
            .createZone(let zone), .deleteZone(let zone), .createSubscription(_, let zone):
            zone
        case .databaseChanges, .currentUser: nil
        }
    }

    /// How many records it names.
    var recordCount: Int {
        switch self {
        case .modify(let operations, _, _, _): operations.count
        case .lookup(let names, _): names.count
        default: 0
        }
    }
}

/// What a request is answered with.
enum ServiceReply: Sendable {
    case modified([ModificationResult], token: String?)
    case found([LookupResult])
    case zoneChanges(ZoneChangesPage)
    case databaseChanges(DatabaseChangesPage)
    case done
    case user(String)
}

/// One request, as hooks and the request log see it.
public struct RequestInfo: Hashable, Sendable {
    /// The kind of request.
    public var kind: RequestKind
    /// The zone that it goes to; nil for requests that go to a whole database.
    public var zone: ZoneID?
    /// The record name of the user; nil without a user.
    public var user: String?
    /// The name of the device that sent it.
    public var device: String
    /// Counts the requests of a device, from 1.
    public var number: Int
    /// The operations of a modify request, empty for others.
    public var modifications: [RecordModification]
    /// The records of a lookup, empty for others.
    public var recordNames: [String]
    /// The token sent, for requests that take one.
    public var token: String?
    /// The fields that a request for changes of a zone asks for; nil is all.
    public var fields: Set<String>?
    /// The record types that a request for changes of a zone asks for; nil is all.
    public var types: Set<String>?

    init(_ request: ServiceRequest, user: String?, device: String, number: Int) {
        kind = request.kind
        zone = request.zone
        self.user = user
        self.device = device
        self.number = number
        modifications = []
        recordNames = []
        switch request {
        case .modify(let operations, _, _, let token):
            (modifications, self.token) = (operations, token)
        case .lookup(let names, _): recordNames = names
        case .databaseChanges(let token): self.token = token
        case .zoneChanges(_, let token, _, let fields, let types):
            (self.token, self.fields, self.types) = (token, fields, types)
        default: break
        }
    }
}
