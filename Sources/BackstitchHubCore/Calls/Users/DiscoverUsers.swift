import CloudKitWire

extension UserCalls {
    /// Those whom the caller names, or all who want to be found: `users/discover`.
    func discoverUsers(
        _ request: DiscoverUsersRequest, _ call: HubCall, _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.infos.count)
        return try withUsers(call, transaction) { users in
            let found: [(UserRow, WireLookupInfo?)] =
                if request.infos.isEmpty {
                    try users.all().filter(\.isDiscoverable).map { ($0, nil) }
                } else {
                    try users.found(request.infos).map { ($0.row, $0.info) }
                }
            let items = found.map { row, info in
                WireItem.value(row.identity(info, isSelf: users.isOwn(row)))
            }
            return UsersResponse(users: items).body()
        }
    }
}
