import CloudKitWire

extension Hub {
    /// The caller: `users/current`.
    func currentUser(_ call: HubCall) throws -> HubResponse {
        try withUsers(call) { users in users.own.wireUser(isSelf: true).body() }
    }
}
