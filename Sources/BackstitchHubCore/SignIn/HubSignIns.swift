import CloudKitWire
import Foundation
import WireCrypto

/// The settings of a hub's sign-in page: passwords and codes of users, and the web pages that get the
/// token of a user who signs in.
///
/// A process that doesn't serve the hub may change them; they count at once.
public struct HubSignIns: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let sweeper: ExpirySweeper

    /// The fewest and the most bytes of a password.
    public static let passwordBytes = 8...1_024
    /// The most origins of an API token.
    public static let originsMax = 32

    // MARK: Users

    /// Has a user sign in with a password; sessions that there are go on.
    ///
    /// It takes some 100 ms of a processor and 32 MiB, which make guessing slow.
    ///
    /// - Parameter password: Empty for none: the user then has no password.
    /// - Throws: A failure if there is no such user, or the password is too short.
    public func setPassword(
        _ password: String, of name: String, in realm: HubAccounts.Realm
    ) async throws {
        let bytes = Self.bytes(of: password)
        guard bytes.isEmpty || Self.passwordBytes.contains(bytes.count) else {
            throw HubError(.invalid, "A password has 8 to 1,024 bytes. Choose another one.")
        }
        let salt = configuration.clock.secret(PasswordHash.saltByteCount)
        let row = bytes.isEmpty ? nil : PasswordRow(PasswordHash(bytes, salt: salt))
        try await storage.write(to: [.global], expecting: { [.key(realm.key)] }) { transaction in
            let (user, number) = try transaction.signInUser(name, realm)
            let key = PasswordRow.key(realm: number, user.userRecordName)
            if let row { try transaction.put(key, row) } else { try transaction.delete(key) }
        }
    }

    /// A password as it is hashed: one text has several encodings, of which keyboards make one or the other.
    static func bytes(of password: String) -> [UInt8] {
        Array(password.precomposedStringWithCanonicalMapping.utf8)
    }

    /// Makes a code with which a user signs in once, within an hour unless the hub has another bound.
    public func makeCode(
        for name: String, in realm: HubAccounts.Realm
    ) async throws -> String {
        let code = SignInCode(secret: configuration.clock.secret(SignInCode.digitCount))
        let end = configuration.now + Int64(configuration.limits.signInCodeMinutes) * 60_000
        let sweep = sweeper.sweep(of: .global)
        try await storage.write(
            to: [.global], expecting: { [.key(realm.key)] + Expiry.expected(in: .global) }
        ) { transaction in
            let (user, number) = try transaction.signInUser(name, realm)
            let key = SignInCodeRow.key(code)
            try transaction.put(
                key,
                SignInCodeRow(realm: number, userRecordName: user.userRecordName, expires: end))
            try transaction.noteExpiry(of: key, at: end)
            try sweep(transaction)
        }
        return code.told
    }

    // MARK: Web pages

    /// Says which web pages get the tokens of users who sign in for an API token.
    ///
    /// - Parameters:
    ///   - id: As a list of API tokens has it.
    ///   - origins: The origins of pages that open the sign-in page and are told by a message; nil for those
    ///     that there are.
    ///   - callback: The address that users are sent to in place of that, with the token in its query; empty
    ///     for none, nil for what there is.
    /// - Returns: Whether there is an API token of that id.
    /// - Throws: A failure that names what is no origin or no address.
    public func setPages(
        ofToken id: String, origins: [String]?, callback: String?
    ) async throws -> Bool {
        try Self.check(origins: origins ?? [], callback: callback)
        let id = id.lowercased()
        let key = try await storage.read { transaction in
            try transaction.list(HubKey(.global, .apiToken), as: APITokenRow.self).map(\.key)
                .first { $0.behindTable.hexadecimal.prefix(16) == id.prefix(16) }
        }
        guard let key, id.utf8.count >= 16 else { return false }
        return try await storage.write(to: [.global], expecting: { [.key(key)] }) { transaction in
            guard var row: APITokenRow = try transaction.row(key) else { return false }
            if let origins { row.origins = origins }
            if let callback { row.callback = callback.isEmpty ? nil : callback }
            try transaction.put(key, row)
            return true
        }
    }

    /// Checks origins and an address before an API token is made that is to have them.
    ///
    /// - Throws: A failure that names what is no origin or no address.
    public static func check(origins: [String], callback: String?) throws {
        guard origins.count <= originsMax else {
            throw HubError(.invalid, "An API token has at most \(originsMax) origins.")
        }
        for origin in origins where WebOrigin(origin) == nil {
            throw HubError(
                .invalid,
                "'\(origin)' is no origin of a web page. Give one such as https://app.example.com, "
                    + "without a path; http is taken of localhost alone.")
        }
        guard let callback, !callback.isEmpty else { return }
        let isPlain = callback.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        guard isPlain, WebOrigin(startOf: callback) != nil else {
            throw HubError(
                .invalid,
                "'\(callback)' is no address to send users to. Give one such as "
                    + "https://app.example.com/signed-in; http is taken of localhost alone.")
        }
    }
}

extension HubReading {
    /// A user who may sign in, and the number of the realm.
    fileprivate func signInUser(
        _ name: String, _ realm: HubAccounts.Realm
    ) throws -> (user: UserRow, realm: UInt32) {
        let user = try knownUser(named: name, realm)
        guard !user.isErased else {
            throw HubError(.notFound, "There is no user '\(name)'. 'users list' has their names.")
        }
        return (user, try self.realm(realm).number)
    }
}
