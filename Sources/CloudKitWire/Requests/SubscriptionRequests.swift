package import BackstitchCore

/// A wish to be told of changes.
package struct WireSubscription: Hashable, Sendable, WireBody {
    package enum Kind: String, Hashable, Sendable {
        case query
        case zone
        case database
    }

    package var subscriptionID: String?
    package var kind: Kind
    package var zoneID: WireZoneID?
    package var query: ServiceQuery?
    /// Why the query of a request can't be read; nil if it can.
    package private(set) var queryFailure: WireFormatError?
    /// `create`, `update`, `delete`.
    package var firesOn: [String]?
    package var firesOnce: Bool?
    package var isZoneWide: Bool?
    /// Passed on unread.
    package var notificationInfo: JSONValue?

    package init(subscriptionID: String?, kind: Kind, zoneID: WireZoneID? = nil) {
        self.subscriptionID = subscriptionID
        self.kind = kind
        self.zoneID = zoneID
    }

    package init(json: JSONObject) throws(WireFormatError) {
        try self.init(request: json)
        if let queryFailure { throw queryFailure }
    }

    /// A subscription of a request. A query that can't be read is noted, so that the other subscriptions of
    /// the request can be made.
    package init(request json: JSONObject) throws(WireFormatError) {
        subscriptionID = try json.text("subscriptionID", "subscriptionId")
        let name = try json.requiredText("subscriptionType")
        guard let kind = Kind(rawValue: name) else {
            throw WireFormatError("There is no subscriptionType '\(name)'.")
        }
        self.kind = kind
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        do throws(WireFormatError) {
            query = try json.object("query").map(ServiceQuery.init(json:))
        } catch {
            queryFailure = error
        }
        firesOn = try json.texts("firesOn")
        firesOnce = try json.flag("firesOnce")
        isZoneWide = try json.flag("zoneWide")
        notificationInfo = json.value("notificationInfo")?.value
    }

    package func write(to json: inout JSONWriter) {
        json.member("subscriptionID", subscriptionID)
        json.member("subscriptionType", kind.rawValue)
        json.member("zoneID", zoneID)
        json.member("query", query)
        json.member("firesOn", texts: firesOn)
        json.member("firesOnce", flag: firesOnce)
        json.member("zoneWide", flag: isZoneWide)
        json.member("notificationInfo", notificationInfo)
    }
}

/// The body of `subscriptions/lookup`.
package struct LookupSubscriptionsRequest: Hashable, Sendable, WireBody {
    package var subscriptionIDs: [String]

    package init(subscriptionIDs: [String]) { self.subscriptionIDs = subscriptionIDs }

    package init(json: JSONObject) throws(WireFormatError) {
        subscriptionIDs = try json.requiredObjects("subscriptions") {
            subscription throws(WireFormatError) in
            try subscription.requiredText("subscriptionID")
        }
    }

    package func write(to json: inout JSONWriter) {
        json.member("subscriptions", array: subscriptionIDs) { json, id in
            json.object { $0.member("subscriptionID", id) }
        }
    }
}

/// The body of `subscriptions/modify`.
package struct ModifySubscriptionsRequest: Hashable, Sendable, WireBody {
    /// One operation.
    package enum Operation: Hashable, Sendable, WireBody {
        case create(WireSubscription)
        case update(WireSubscription)
        case delete(subscriptionID: String)

        package init(json: JSONObject) throws(WireFormatError) {
            let subscription = try json.requiredObject("subscription")
            switch try json.requiredText("operationType") {
            case "create": self = .create(try WireSubscription(request: subscription))
            case "update": self = .update(try WireSubscription(request: subscription))
            case "delete":
                self = .delete(subscriptionID: try subscription.requiredText("subscriptionID"))
            case let name:
                throw WireFormatError("There is no operationType '\(name)' for subscriptions.")
            }
        }

        package func write(to json: inout JSONWriter) {
            switch self {
            case .create(let subscription):
                json.member("operationType", "create")
                json.member("subscription", subscription)
            case .update(let subscription):
                json.member("operationType", "update")
                json.member("subscription", subscription)
            case .delete(let id):
                json.member("operationType", "delete")
                json.object("subscription") { $0.member("subscriptionID", id) }
            }
        }
    }

    package var operations: [Operation]

    package init(operations: [Operation]) { self.operations = operations }

    package init(json: JSONObject) throws(WireFormatError) {
        operations = try json.requiredObjects("operations", Operation.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("operations", bodies: operations)
    }
}
