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
            created: now, session: call.authentication.session)
        let hash = Digest.sha256(token)
        let devicesMax = configuration.limits.devicesPerUser
        let isTakenOver = try await storage.write(call.work) { transaction in
            let known: PushTokenRow? = try transaction.row(PushTokenRow.key(hash: hash))
            let isOthers = known.map { $0.userRecordName != user || $0.realm != row.realm } ?? false
            if let known, isOthers {
                // Nobody guesses a token: it is the same device, where somebody else signed in.
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
        if isTakenOver { couriers.forget(hash) }
        if isCreation || isTakenOver { couriers.expect(hash, of: row.listener, now: steadyNow) }
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
        else { throw Self.noCourier }
        let hash = Digest.sha256(token)
        let listener = try checkCourier(hash)
        guard let notification = await couriers.next(hash, of: listener, now: steadyNow) else {
            return .json([])
        }
        // The session may have ended in the meantime.
        guard try checkCourier(hash) == listener else { throw Self.noCourier }
        return .json(notification.payload)
    }

    private static let noCourier = WireError(.notFound, "There is nothing at this address.")

    /// Checks that the address of a courier is one, and that its session goes on.
    ///
    /// - Returns: Who listens there.
    private func checkCourier(_ hash: [UInt8]) throws -> CourierBoard.Listener {
        let listener: CourierBoard.Listener? = try storage.read { transaction in
            guard let row: PushTokenRow = try transaction.row(PushTokenRow.key(hash: hash)) else {
                return nil
            }
            guard let session = row.session else {
                // No session that made it is longer.
                return now < row.created + Self.webTokenMilliseconds ? row.listener : nil
            }
            let token: WebTokenRow? = try transaction.row(WebTokenRow.key(hash: session))
            return token.map { $0.expires > now } == true ? row.listener : nil
        }
        guard let listener else { throw Self.noCourier }
        return listener
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

extension PushTokenRow {
    /// Who listens at the token's address.
    var listener: CourierBoard.Listener {
        CourierBoard.Listener(realm: realm, userRecordName: userRecordName)
    }
}
