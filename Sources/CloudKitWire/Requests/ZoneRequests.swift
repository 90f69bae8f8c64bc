/// The body of `zones/lookup`.
package struct LookupZonesRequest: Hashable, Sendable, WireBody {
    package var zones: [WireZoneID]

    package init(zones: [WireZoneID]) { self.zones = zones }

    package init(json: JSONObject) throws(WireFormatError) {
        zones = try json.requiredObjects("zones") { zone throws(WireFormatError) in
            // Bare zone ids are the rule; zones that hold one are understood too.
            let id = try zone.object("zoneID")
            return try WireZoneID(json: id ?? zone)
        }
    }

    package func write(to json: inout JSONWriter) {
        json.member("zones", bodies: zones)
    }
}

/// The body of `zones/modify`.
package struct ModifyZonesRequest: Hashable, Sendable, WireBody {
    /// One operation.
    package struct Operation: Hashable, Sendable, WireBody {
        package enum Kind: String, Hashable, Sendable {
            case create
            case delete
        }

        package var kind: Kind
        package var zoneID: WireZoneID

        package init(_ kind: Kind, _ zoneID: WireZoneID) {
            self.kind = kind
            self.zoneID = zoneID
        }

        package init(json: JSONObject) throws(WireFormatError) {
            let name = try json.requiredText("operationType")
            guard let kind = Kind(rawValue: name) else {
                throw WireFormatError("There is no operationType '\(name)' for zones.")
            }
            self.kind = kind
            zoneID = try WireZoneID(json: json.requiredObject("zone").requiredObject("zoneID"))
        }

        package func write(to json: inout JSONWriter) {
            json.member("operationType", kind.rawValue)
            json.object("zone") { $0.member("zoneID", zoneID) }
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
