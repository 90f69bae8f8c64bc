import CloudKitWire

extension UserCalls {
    /// The caller in the newer form: `users/caller`.
    func caller(_ call: HubCall, _ transaction: any HubReading) throws -> HubResponse {
        try withUsers(call, transaction) { users in
            UsersResponse(users: [.value(users.own.identity(nil, isSelf: true))]).body()
        }
    }
}
