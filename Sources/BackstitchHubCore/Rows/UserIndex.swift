/// Entries that find the users of an environment by what people type.
///
/// An entry has the hash of a text and the record name of a user. Whoever reads it compares the user's row:
/// hashes can be alike, and a user may be gone.
enum UserIndex {
    /// A text that finds users.
    enum Text: Hashable, Sendable {
        /// The operator's name for the user, as it is written.
        case name(String)
        /// The e-mail address, without regard to case.
        case address(String)

        fileprivate var kind: UInt8 {
            switch self {
            case .name: 1
            case .address: 2
            }
        }

        fileprivate var folded: String {
            switch self {
            case .name(let name): name
            case .address(let address): address.lowercased()
            }
        }

        /// Whether a user is found by this.
        func finds(_ row: UserRow) -> Bool { row.indexedTexts.contains { $0.isAlike(self) } }

        private func isAlike(_ other: Text) -> Bool {
            kind == other.kind && folded == other.folded
        }
    }

    /// How many users of one text are told before they are read; more than one is rare.
    private static let toldPerText = 2

    static func prefix(realm: UInt32, _ text: Text) -> HubKey {
        HubKey(.global, .userIndex).adding(realm).adding(CollectionOfOne(text.kind))
            .adding(hashed: text.folded)
    }

    static func keys(of row: UserRow, realm: UInt32) -> Set<HubKey> {
        Set(row.indexedTexts.map { prefix(realm: realm, $0).adding(row.userRecordName) })
    }

    /// What is read to find users by texts.
    static func expected(_ texts: some Sequence<Text>, realm: UInt32) -> [KeyQuery] {
        texts.map {
            .first(
                toldPerText, of: prefix(realm: realm, $0), naming: .key,
                under: UserRow.prefix(realm: realm))
        }
    }
}

extension UserRow {
    /// What finds the user.
    fileprivate var indexedTexts: [UserIndex.Text] {
        [.name(name)] + (emailAddress.map { [.address($0)] } ?? [])
    }
}

extension HubReading {
    /// The users whom a text finds.
    func users(_ text: UserIndex.Text, realm: UInt32) throws -> [UserRow] {
        let prefix = UserIndex.prefix(realm: realm, text)
        expect { UserIndex.expected(CollectionOfOne(text), realm: realm) }
        var names: [String] = []
        try unsafe scan(prefix, from: nil) { key, _ in
            unsafe names.append(key.text(behind: prefix))
            return true
        }
        return try names.compactMap { try row(UserRow.key(realm: realm, $0)) }
            .filter { text.finds($0) }
    }
}

extension HubWriting {
    /// Sets the row of a user, and the entries that find the user.
    ///
    /// - Parameter old: What the row was; nil of a new user.
    func put(_ user: UserRow, realm: UInt32, replacing old: UserRow? = nil) throws {
        let keys = UserIndex.keys(of: user, realm: realm)
        if let old {
            for key in UserIndex.keys(of: old, realm: realm).subtracting(keys) { try delete(key) }
        }
        for key in keys { try put(key, []) }
        try put(UserRow.key(realm: realm, user.userRecordName), user)
    }

    /// Deletes the row of a user, and the entries that find the user.
    func deleteUser(_ userRecordName: String, realm: UInt32) throws {
        let key = UserRow.key(realm: realm, userRecordName)
        guard let row: UserRow = try row(key) else { return }
        for key in UserIndex.keys(of: row, realm: realm) { try delete(key) }
        try delete(key)
    }
}
