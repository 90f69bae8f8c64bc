/// A user, as `users/current` and `users/lookup/…` tell one.
package struct WireUser: Hashable, Sendable, WireBody {
    /// Absent for a user who does not want to be found.
    package var userRecordName: String?
    package var firstName: String?
    package var lastName: String?
    package var emailAddress: String?

    package init(
        userRecordName: String?, firstName: String? = nil, lastName: String? = nil,
        emailAddress: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
        self.emailAddress = emailAddress
    }

    package init(json: JSONObject) throws(WireFormatError) {
        userRecordName = try json.text("userRecordName")
        firstName = try json.text("firstName")
        lastName = try json.text("lastName")
        emailAddress = try json.text("emailAddress")
    }

    package func write(to json: inout JSONWriter) {
        json.member("userRecordName", userRecordName)
        json.member("firstName", firstName)
        json.member("lastName", lastName)
        json.member("emailAddress", emailAddress)
    }
}

/// A user, as `users/caller` and `users/discover` tell one.
package struct WireUserIdentity: Hashable, Sendable, WireBody {
    package var lookupInfo: WireLookupInfo?
    package var userRecordName: String?
    package var givenName: String?
    package var familyName: String?

    package init(
        lookupInfo: WireLookupInfo? = nil, userRecordName: String?, givenName: String? = nil,
        familyName: String? = nil
    ) {
        self.lookupInfo = lookupInfo
        self.userRecordName = userRecordName
        self.givenName = givenName
        self.familyName = familyName
    }

    package init(json: JSONObject) throws(WireFormatError) {
        lookupInfo = try json.object("lookupInfo").map(WireLookupInfo.init(json:))
        userRecordName = try json.text("userRecordName")
        let name = try json.object("nameComponents")
        givenName = try name?.text("givenName")
        familyName = try name?.text("familyName")
    }

    package func write(to json: inout JSONWriter) {
        json.member("lookupInfo", lookupInfo)
        json.member("userRecordName", userRecordName)
        guard givenName != nil || familyName != nil else { return }
        json.object("nameComponents") { json in
            json.member("givenName", givenName)
            json.member("familyName", familyName)
        }
    }
}

/// A reply that lists users.
package struct UsersResponse<User: WireBody & Hashable & Sendable>: Hashable, Sendable, WireBody {
    package var users: [WireItem<User>]

    package init(users: [WireItem<User>]) { self.users = users }

    package init(json: JSONObject) throws(WireFormatError) {
        // A user alone stands for a list of one.
        guard let users = try json.objects("users", WireItem<User>.init(json:)) else {
            self.users = [try WireItem<User>(json: json)]
            return
        }
        self.users = users
    }

    package func write(to json: inout JSONWriter) {
        json.member("users", bodies: users)
    }
}
