import CloudKitWire

extension UserCalls {
    /// Users by name or address: `users/lookup/email` and `users/lookup/id`.
    func lookUpUsers(
        _ request: LookupUsersRequest, _ call: HubCall, _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.infos.count)
        return try withUsers(call, transaction) { users in
            let items = try users.found(request.infos).map { row, _ in
                WireItem.value(row.wireUser(isSelf: users.isOwn(row)))
            }
            return UsersResponse(users: items).body()
        }
    }
}
