import CloudKitWire

extension Hub {
    /// The calls about users.
    func users(_ call: HubCall) throws -> HubResponse {
        guard case .user(let user) = call.principal else {
            if case .server = call.principal {
                throw WireError(.accessDenied, "Server keys can't ask for users.")
            }
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        let infos = try lookupInfos(call)
        return try storage.read { transaction in
            let all = try transaction.rows(
                under: HubKey(.user).adding(call.realm.number), as: UserRow.self
            ).map(\.row)
            guard let own = all.first(where: { $0.userRecordName == user }) else {
                throw WireError(.authenticationFailed, "Authentication failed")
            }
            func found(_ info: WireLookupInfo) -> UserRow? {
                all.first { $0.isMeant(by: info, askedBy: user) }
            }
            switch call.path.endpoint {
            case .currentUser: return .json(own.wireUser(isSelf: true).body())
            case .caller:
                let identity = own.identity(nil, isSelf: true)
                return .json(UsersResponse(users: [.value(identity)]).body())
            case .discoverUsers:
                let users =
                    infos.isEmpty
                    ? all.filter(\.isDiscoverable).map { ($0, nil) }
                    : infos.compactMap { info in found(info).map { ($0, Optional(info)) } }
                let items = users.map { row, info in
                    WireItem.value(row.identity(info, isSelf: row.userRecordName == user))
                }
                return .json(UsersResponse(users: items).body())
            default:
                let items = infos.compactMap(found).map {
                    WireItem.value($0.wireUser(isSelf: $0.userRecordName == user))
                }
                return .json(UsersResponse(users: items).body())
            }
        }
    }

    /// Whom a call asks for; nobody where it asks for the caller or for all.
    private func lookupInfos(_ call: HubCall) throws(WireError) -> [WireLookupInfo] {
        let infos: [WireLookupInfo]
        switch call.path.endpoint {
        case .discoverUsers: infos = try call.decode(DiscoverUsersRequest.self).infos
        case .lookupUsersByEmail, .lookupUsersByID:
            infos = try call.decode(LookupUsersRequest.self).infos
        default: return []
        }
        try checkCount(infos.count)
        return infos
    }
}

extension UserRow {
    /// Whether somebody who asks for a user means this one. By address only those are found who want
    /// to be.
    fileprivate func isMeant(by info: WireLookupInfo, askedBy user: String) -> Bool {
        if let name = info.userRecordName { return name == userRecordName }
        guard let address = info.emailAddress, let emailAddress else { return false }
        return address.lowercased() == emailAddress.lowercased()
            && (isDiscoverable || user == userRecordName)
    }
}
