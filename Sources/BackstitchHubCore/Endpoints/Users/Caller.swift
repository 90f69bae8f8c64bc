import CloudKitWire

extension Hub {
    /// The caller in the newer form: `users/caller`.
    func caller(_ call: HubCall) throws -> HubResponse {
        try withUsers(call) { users in
            UsersResponse(users: [.value(users.own.identity(nil, isSelf: true))]).body()
        }
    }
}
