import CloudKitWire

extension Hub {
    /// The answer to a request that failed as a whole, for whatever reason.
    func failure(_ error: any Error, of call: String) -> HubResponse {
        switch error {
        case let error as WireError: return failure(error)
        case is WorkGivenUp: return failure(Self.tooBusy)
        default:
            log(failure: error, call: call)
            if let error = error as? any StorageFailure, error.isAboutSpace {
                readiness.noteFullDisk()
            }
            return failure(Self.reply(to: error))
        }
    }

    /// The answer to a request that failed as a whole.
    func failure(_ error: WireError) -> HubResponse {
        var error = error
        error.uuid = makeUUID()
        error.serverRecord = nil
        var response = HubResponse.failure(error)
        response.headers.append(HubRequest.Header(WireHeader.requestUUID, error.uuid ?? ""))
        return response
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// A random name, as a UUID of version 4 (RFC 9562, section 5.4).
    func makeUUID() -> String {
        var bytes = configuration.clock.secret(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(Self.digits[Int(byte >> 4)])
            text.append(Self.digits[Int(byte & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// What a client is told of a failure of the hub itself.
    private static func reply(to error: any Error) -> WireError {
        if let error = error as? any StorageFailure, error.isAboutSpace {
            return WireError(.tryAgainLater, "The service has no space left.", retryAfter: 60)
        }
        if let error = error as? any StorageFailure, error.isPassing {
            return WireError(.tryAgainLater, "The service's storage is away.", retryAfter: 5)
        }
        return WireError(.internalError, "The service failed.")
    }

    /// Writes a line about a failure of the hub itself.
    func log(failure error: any Error, call: String) {
        var json = JSONWriter()
        json.object { json in
            json.member("time", integer: now)
            json.member("level", "error")
            json.member("call", call)
            json.member("message", "\(error)")
        }
        configuration.log(String(decoding: json.bytes, as: UTF8.self))
    }
}
