import CloudKitWire

/// The users of an environment, as one of them may see them.
struct UserDirectory {
    private let transaction: any HubReading
    private let realm: UInt32
    /// Who asks.
    let own: UserRow

    fileprivate init(_ transaction: any HubReading, realm: UInt32, user: String) throws {
        (self.transaction, self.realm) = (transaction, realm)
        transaction.expect { [.key(UserRow.key(realm: realm, user))] }
        guard let own: UserRow = try transaction.row(UserRow.key(realm: realm, user)) else {
            throw WireError(.authenticationFailed, "Authentication failed")
        }
        self.own = own
    }

    /// Whether a user is the one who asks.
    func isOwn(_ row: UserRow) -> Bool { row.userRecordName == own.userRecordName }

    /// All users.
    ///
    /// - Complexity: O(*n*) in the users of the environment.
    func all() throws -> [UserRow] {
        var rows: [UserRow] = []
        try unsafe transaction.scanInParts(UserRow.prefix(realm: realm)) { _, value in
            unsafe rows.append(try UserRow(stored: Array(value)))
            return true
        }
        return rows
    }

    private static func isName(_ text: String) -> Bool { (1...255).contains(text.utf8.count) }

    /// Those who are asked for, as far as there are some.
    func found(
        _ infos: [WireLookupInfo]
    ) throws -> [(row: UserRow, info: WireLookupInfo)] {
        transaction.expect {
            infos.compactMap(\.userRecordName).filter(Self.isName)
                .map { .key(UserRow.key(realm: realm, $0)) }
                + UserIndex.expected(
                    infos.compactMap { info in info.emailAddress.map { .address($0) } },
                    realm: realm)
        }
        return try infos.compactMap { info in
            if let name = info.userRecordName {
                guard Self.isName(name) else { return nil }
                let row: UserRow? = try transaction.row(UserRow.key(realm: realm, name))
                return row.map { ($0, info) }
            }
            guard let address = info.emailAddress else { return nil }
            return try transaction.users(.address(address), realm: realm).first {
                $0.isMeant(by: info, askedBy: own.userRecordName)
            }
            .map { ($0, info) }
        }
    }
}

extension UserCalls {
    /// Answers with what a closure makes of the users whom the caller may see.
    func withUsers(
        _ call: HubCall, _ transaction: any HubReading, _ body: (UserDirectory) throws -> [UInt8]
    ) throws -> HubResponse {
        let user = call.principal.userRecordName ?? ""
        let users = try UserDirectory(transaction, realm: call.realm.number, user: user)
        return .json(try body(users))
    }
}

extension UserRow {
    /// Whether a request for a user means this one. By address only those users are found who agreed to that.
    fileprivate func isMeant(by info: WireLookupInfo, askedBy user: String) -> Bool {
        if let name = info.userRecordName { return name == userRecordName }
        guard let address = info.emailAddress, let emailAddress else { return false }
        return address.lowercased() == emailAddress.lowercased()
            && (isDiscoverable || user == userRecordName)
    }
}
