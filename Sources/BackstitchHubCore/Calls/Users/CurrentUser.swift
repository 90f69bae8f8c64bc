import CloudKitWire

extension UserCalls {
    /// The caller: `users/current`.
    func currentUser(_ call: HubCall, _ transaction: any HubReading) throws -> HubResponse {
        try withUsers(call, transaction) { users in users.own.wireUser(isSelf: true).body() }
    }
}
