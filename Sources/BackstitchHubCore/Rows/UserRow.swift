import CloudKitWire

/// A user of a container's environment.
struct UserRow: HubRow, Hashable, Sendable {
    static let title = "a user"

    var userRecordName: String
    /// The operator's name for the user.
    var name: String
    var firstName: String?
    var lastName: String?
    var emailAddress: String?
    /// Whether others get the user's name.
    var isDiscoverable: Bool
    /// Whether everything of the user is being erased, which goes on if it was cut.
    var isErased = false

    /// The users of a realm.
    static func prefix(realm: UInt32) -> HubKey { HubKey(.global, .user).adding(realm) }

    static func key(realm: UInt32, _ userRecordName: String) -> HubKey {
        prefix(realm: realm).adding(userRecordName)
    }

    init(
        userRecordName: String, name: String, firstName: String? = nil, lastName: String? = nil,
        emailAddress: String? = nil, isDiscoverable: Bool = false
    ) {
        self.userRecordName = userRecordName
        self.name = name
        self.firstName = firstName
        self.lastName = lastName
        self.emailAddress = emailAddress
        self.isDiscoverable = isDiscoverable
    }

    init(json: JSONObject) throws(WireFormatError) {
        userRecordName = try json.requiredText("recordName")
        name = try json.requiredText("name")
        firstName = try json.text("firstName")
        lastName = try json.text("lastName")
        emailAddress = try json.text("email")
        isDiscoverable = try json.flag("discoverable") ?? false
        isErased = try json.flag("erased") ?? false
    }

    func write(to json: inout JSONWriter) {
        json.member("recordName", userRecordName)
        json.member("name", name)
        json.member("firstName", firstName)
        json.member("lastName", lastName)
        json.member("email", emailAddress)
        json.member("discoverable", flag: isDiscoverable)
        if isErased { json.member("erased", flag: true) }
    }

    /// What others, and the user, get told.
    func wireUser(isSelf: Bool) -> WireUser {
        guard isSelf || isDiscoverable else { return WireUser(userRecordName: userRecordName) }
        return WireUser(
            userRecordName: userRecordName, firstName: firstName, lastName: lastName,
            emailAddress: isSelf ? emailAddress : nil)
    }

    /// What others, and the user, get told in the newer form.
    func identity(_ lookupInfo: WireLookupInfo?, isSelf: Bool) -> WireUserIdentity {
        guard isSelf || isDiscoverable else {
            return WireUserIdentity(lookupInfo: lookupInfo, userRecordName: userRecordName)
        }
        return WireUserIdentity(
            lookupInfo: lookupInfo, userRecordName: userRecordName, givenName: firstName,
            familyName: lastName)
    }
}
