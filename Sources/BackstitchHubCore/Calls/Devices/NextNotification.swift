import CloudKitWire
import WireCrypto

extension DeviceCalls {
    /// The courier of an address, by the hash of its token, and who listens there from now on.
    func courier(
        at target: RequestTarget
    ) async throws -> (hash: [UInt8], listener: CourierListener) {
        guard target.path.count == 3, target.path[1] == "1",
            let token = Self.token(hexadecimal: target.path[2])
        else { throw WireError.nothing }
        let hash = Digest.sha256(token)
        let listener = try await checkCourier(hash)
        try await notifier.listen(for: listener)
        return (hash, listener)
    }

    /// A notification as the answer to a device that waited for it: its session may have ended meanwhile.
    func answer(
        _ notification: CourierNotification, to listener: CourierListener, at hash: [UInt8]
    ) async throws -> HubResponse {
        guard try await checkCourier(hash) == listener else { throw WireError.nothing }
        return .json(notification.payload)
    }

    /// Checks that the address of a courier is one, and that its session goes on.
    ///
    /// - Returns: Who listens there.
    private func checkCourier(_ hash: [UInt8]) async throws -> CourierListener {
        let (now, limits) = (configuration.now, configuration.limits)
        let listener: CourierListener? = try await storage.readSoon { transaction in
            transaction.expect { [.key(PushTokenRow.key(hash: hash))] }
            guard let row: PushTokenRow = try transaction.row(PushTokenRow.key(hash: hash)) else {
                return nil
            }
            let session = WebTokenRow.key(hash: row.session)
            transaction.expect { [.key(session)] }
            let token: WebTokenRow? = try transaction.row(session)
            return token.map { $0.idleEnd(limits) > now } == true ? row.listener : nil
        }
        guard let listener else { throw WireError.nothing }
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
