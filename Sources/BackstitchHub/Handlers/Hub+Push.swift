import CloudKitWire
import Foundation
import WireCrypto

extension Hub {
    /// The calls about devices: `tokens/create` and `tokens/register`.
    func respondToDevice(_ call: HubCall) async throws -> HubResponse {
        let request: PushTokenRequest = try call.decode()
        guard ["development", "production"].contains(request.apnsEnvironment) else {
            throw WireError(.badRequest, "apnsEnvironment is development or production.")
        }
        guard case .user(let user) = call.principal else {
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        let isCreation = call.path.endpoint == .createToken
        let token: String
        if isCreation {
            token = Data(configuration.clock.secret(32)).base64EncodedString()
        } else {
            guard let given = request.apnsToken, (1...512).contains(given.utf8.count) else {
                throw WireError(.badRequest, "apnsToken is missing.")
            }
            token = given
        }
        let row = PushTokenRow(
            realm: call.realm.number, userRecordName: user, environment: request.apnsEnvironment,
            created: now)
        let hash = Digest.sha256(token)
        let devicesMax = configuration.limits.devicesPerUser
        try await storage.write { transaction in
            if let known: PushTokenRow = try transaction.row(PushTokenRow.key(hash: hash)),
                known.userRecordName != user || known.realm != row.realm
            {
                throw WireError(.accessDenied, "The token is another user's.")
            }
            try transaction.put(PushTokenRow.key(hash: hash), row)
            let prefix = PushTokenRow.prefix(realm: row.realm, user: user)
            try transaction.put(prefix.adding(hash), Array(user.utf8))
            try Self.forgetDevices(beyond: devicesMax, of: row, transaction)
        }
        guard isCreation else { return .json(EmptyResponse().body()) }
        let path = Data(token.utf8).map { $0 }.hexadecimal
        let response = PushTokenResponse(
            apnsEnvironment: request.apnsEnvironment, apnsToken: token,
            webcourierURL: "\(baseURL)/courier/1/\(path)")
        return .json(response.body())
    }

    /// Forgets the oldest devices of a user where there are more than a number.
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

    /// Waits for the next notification: the courier's address.
    func nextNotification(_ target: RequestTarget) async throws -> HubResponse {
        guard target.path.count == 3, target.path[1] == "1",
            let token = Self.token(hexadecimal: target.path[2])
        else { throw WireError(.notFound, "There is nothing at this address.") }
        let hash = Digest.sha256(token)
        let isKnown = try storage.read { try $0.value(PushTokenRow.key(hash: hash)) != nil }
        guard isKnown else { throw WireError(.notFound, "There is nothing at this address.") }
        guard let notification = await couriers.next(hash, now: now) else {
            return .json([])
        }
        return .json(notification.payload)
    }

    private static func token(hexadecimal text: String) -> String? {
        let digits = text.compactMap { $0.hexDigitValue.map { UInt8($0) } }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2),
            digits.count <= 1_024
        else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            digits[$0] << 4 | digits[$0 + 1]
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
