import CloudKitWire

extension UserCalls {
    /// Whom the caller knows, which a hub does not: `users/lookup/contacts`.
    func lookUpContacts(_ call: HubCall, _ transaction: any HubReading) throws -> HubResponse {
        try withUsers(call, transaction) { _ in UsersResponse<WireUser>(users: []).body() }
    }
}
