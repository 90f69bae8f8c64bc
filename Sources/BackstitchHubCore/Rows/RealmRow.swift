import CloudKitWire

/// One environment of a container; databases, users and credentials belong to one.
struct RealmRow: HubRow, Hashable, Sendable {
    static let title = "a container"

    var number: UInt32
    var container: String
    var environment: String

    static func key(container: String, environment: String) -> HubKey {
        HubKey(.global, .realm).adding(terminated: container).adding(environment)
    }

    init(number: UInt32, container: String, environment: String) {
        self.number = number
        self.container = container
        self.environment = environment
    }

    init(json: JSONObject) throws(WireFormatError) {
        number = try json.number32("number")
        container = try json.requiredText("container")
        environment = try json.requiredText("environment")
    }

    func write(to json: inout JSONWriter) {
        json.member("number", integer: Int64(number))
        json.member("container", container)
        json.member("environment", environment)
    }
}
