import CloudKitWire
import Foundation
import WireCrypto

extension DeviceCalls {
    /// Notes that a device of the caller is told of changes by a token.
    ///
    /// - Parameter isNew: Whether the hub made the token for this request.
    func keepToken(_ token: String, isNew: Bool, of row: PushTokenRow, _ call: HubCall) async throws
    {
        let user = row.userRecordName
        let hash = Digest.sha256(token)
        let devicesMax = configuration.limits.devicesPerUser
        let isTakenOver = try await storage.write(
            call.work, to: [.global],
            expecting: {
                let prefix = PushTokenRow.prefix(realm: row.realm, user: user)
                return [
                    .key(PushTokenRow.key(hash: hash)),
                    .first(
                        devicesMax + 2, of: prefix, naming: .key,
                        under: HubKey(.global, .pushToken)),
                ]
            }
        ) { transaction in
            let known: PushTokenRow? = try transaction.row(PushTokenRow.key(hash: hash))
            let isOthers = known.map { $0.userRecordName != user || $0.realm != row.realm } ?? false
            if let known, isOthers {
                // Nobody guesses a token: it is the same device, if somebody else signed in.
                let prefix = PushTokenRow.prefix(realm: known.realm, user: known.userRecordName)
                try transaction.delete(prefix.adding(hash))
            }
            try transaction.put(PushTokenRow.key(hash: hash), row)
            let prefix = PushTokenRow.prefix(realm: row.realm, user: user)
            try transaction.put(prefix.adding(hash), Array(user.utf8))
            try Self.forgetDevices(beyond: devicesMax, of: row, transaction)
            return isOthers
        }
        // What waits there is for the user before.
        if isTakenOver { mailboxes.forget(hash) }
        guard isNew || isTakenOver else { return }
        try await notifier.listen(for: row.listener)
        mailboxes.expect(hash, of: row.listener, now: configuration.steadyNow)
    }

    /// What is kept of the token of the device that a request is about: its user, and the session with which it ends.
    func tokenRow(
        _ request: PushTokenRequest, _ call: HubCall
    ) throws(WireError) -> PushTokenRow {
        guard ["development", "production"].contains(request.apnsEnvironment) else {
            throw WireError(.badRequest, "apnsEnvironment is development or production.")
        }
        guard case .user(let user) = call.principal, let session = call.authentication.session
        else {
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        return PushTokenRow(
            realm: call.realm.number, userRecordName: user, environment: request.apnsEnvironment,
            created: configuration.now, session: session)
    }

    /// Forgets the oldest devices of a user if there are more than a number.
    private static func forgetDevices(
        beyond max: Int, of owner: PushTokenRow, _ transaction: any HubWriting
    ) throws {
        let user = owner.userRecordName
        let hashes = try transaction.pushTokens(of: user, realm: owner.realm)
        guard hashes.count > max else { return }
        let dated = try hashes.map { hash -> (hash: [UInt8], created: Int64) in
            let row: PushTokenRow? = try transaction.row(PushTokenRow.key(hash: hash))
            return (hash, row?.created ?? 0)
        }
        let prefix = PushTokenRow.prefix(realm: owner.realm, user: user)
        for old in dated.sorted(by: { $0.created < $1.created }).prefix(hashes.count - max) {
            try transaction.delete(PushTokenRow.key(hash: old.hash))
            try transaction.delete(prefix.adding(old.hash))
        }
    }
}

extension PushTokenRow {
    /// Who listens at the token's address.
    var listener: CourierListener {
        CourierListener(realm: realm, userRecordName: userRecordName)
    }
}
