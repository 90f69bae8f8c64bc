import CloudKitWire

extension Hub {
    /// The calls about users.
    func users(_ call: HubCall) throws -> HubResponse {
        let user: String
        switch call.principal {
        case .user(let name): user = name
        case .server(let name):
            // Who the key counts as, which the reference's sample asks for; nothing of other users.
            guard [.currentUser, .caller].contains(call.path.endpoint) else {
                throw WireError(.accessDenied, "Server keys can't ask for users.")
            }
            user = name
        case .anonymous:
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        let infos = try lookupInfos(call)
        return try storage.read(call.work) { transaction in
            let key = UserRow.key(realm: call.realm.number, user)
            guard let own: UserRow = try transaction.row(key) else {
                throw WireError(.authenticationFailed, "Authentication failed")
            }
            // All users are read where they are asked for, or by their addresses, and once.
            let isAboutAll = call.path.endpoint == .discoverUsers && infos.isEmpty
            let needsAll = isAboutAll || infos.contains { $0.userRecordName == nil }
            let all =
                try needsAll
                ? transaction.rows(
                    under: HubKey(.user).adding(call.realm.number), as: UserRow.self
                ).map(\.row) : []
            let byAddress = Dictionary(
                all.compactMap { row in row.emailAddress.map { ($0.lowercased(), [row]) } },
                uniquingKeysWith: +)
            func found(_ info: WireLookupInfo) throws -> UserRow? {
                if let name = info.userRecordName {
                    guard (1...255).contains(name.utf8.count) else { return nil }
                    return try transaction.row(UserRow.key(realm: call.realm.number, name))
                }
                let candidates = info.emailAddress.flatMap { byAddress[$0.lowercased()] } ?? []
                return candidates.first { $0.isMeant(by: info, askedBy: user) }
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
                    : try infos.compactMap { info in try found(info).map { ($0, Optional(info)) } }
                let items = users.map { row, info in
                    WireItem.value(row.identity(info, isSelf: row.userRecordName == user))
                }
                return .json(UsersResponse(users: items).body())
            default:
                let items = try infos.compactMap(found).map {
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
