/// What a user is looked up by: one of the keys.
package struct WireLookupInfo: Hashable, Sendable, WireBody {
    package var emailAddress: String?
    package var phoneNumber: String?
    package var userRecordName: String?

    package init(
        emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: String? = nil
    ) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
    }

    package init(json: JSONObject) throws(WireFormatError) {
        emailAddress = try json.text("emailAddress")
        phoneNumber = try json.text("phoneNumber")
        userRecordName = try json.text("userRecordName")
    }

    package func write(to json: inout JSONWriter) {
        json.member("emailAddress", emailAddress)
        json.member("phoneNumber", phoneNumber)
        json.member("userRecordName", userRecordName)
    }
}

/// The body of `users/lookup/…`: `users`, or `lookupInfos` as in `users/discover`.
package struct LookupUsersRequest: Hashable, Sendable, WireBody {
    package var infos: [WireLookupInfo]

    package init(infos: [WireLookupInfo]) { self.infos = infos }

    package init(json: JSONObject) throws(WireFormatError) {
        let name = json.value("users") == nil ? "lookupInfos" : "users"
        infos = try json.requiredObjects(name, WireLookupInfo.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("lookupInfos", bodies: infos)
    }
}

/// The body of `users/discover`. Without names it asks for no user in particular.
package struct DiscoverUsersRequest: Hashable, Sendable, WireBody {
    package var infos: [WireLookupInfo]

    package init(infos: [WireLookupInfo]) { self.infos = infos }

    package init(json: JSONObject) throws(WireFormatError) {
        let isAboutAll = json.value("users") == nil && json.value("lookupInfos") == nil
        infos = isAboutAll ? [] : try LookupUsersRequest(json: json).infos
    }

    package func write(to json: inout JSONWriter) {
        json.member("lookupInfos", bodies: infos)
    }
}
