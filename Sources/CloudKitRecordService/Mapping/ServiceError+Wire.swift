import BackstitchCore
import CloudKitWire

extension ServiceError {
    /// A failure as the protocol tells it.
    ///
    /// - Parameters:
    ///   - status: The HTTP status, which says more if the code is not known.
    ///   - record: The record as the service has it, if the reply has it.
    ///   - token: The change token of the request. The protocol has no code for one that no longer counts:
    ///     a call with it is refused as bad. No other code, known or not, says anything of it.
    init(
        _ error: WireError, status: Int = 200, record: ServiceRecord? = nil,
        since token: String? = nil
    ) {
        let refusesToken = token != nil && error.code == .badRequest
        self.init(
            refusesToken ? .tokenExpired : Self.code(error, status), Self.words(error.reason),
            retryAfterSeconds: error.retryAfter, serverRecord: record)
    }

    /// The most characters that are taken of a service's words.
    private static let wordsMax = 1_000

    /// Words of a service as they may be shown and kept: in one line, without control characters, and not too
    /// long.
    static func words(_ text: String) -> String {
        var words = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(wordsMax) {
            let isShown =
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            words.append(isShown ? scalar : "\u{FFFD}")
        }
        if text.unicodeScalars.count > wordsMax { words.append("…") }
        return String(words)
    }

    private static func code(_ error: WireError, _ status: Int) -> Code {
        switch error.code {
        case .conflict: return .conflict
        case .exists: return .alreadyExists
        case .notFound: return .unknownItem
        case .atomicError: return .batchFailed
        case .zoneNotFound:
            // The words of the service for a zone that the user deleted.
            return error.reason.contains("purged by user") ? .zoneDeletedByUser : .zoneNotFound
        case .throttled: return .rateLimited
        case .tryAgainLater, .internalError: return .serviceUnavailable
        case .accessDenied: return .permissionDenied
        case .authenticationFailed, .authenticationRequired: return .notAuthenticated
        case .validatingReferenceError: return .referenceViolation
        case .quotaExceeded: return .quotaExceeded
        case .limitExceeded: return .limitExceeded
        case .badRequest: return .invalidRequest
        case nil: return otherCode(error.serverErrorCode, status)
        }
    }

    /// Codes that are not in the table of the reference, but were seen.
    private static func otherCode(_ name: String, _ status: Int) -> Code {
        switch name {
        case "SERVER_RECORD_CHANGED": .conflict
        case "UNKNOWN_ITEM": .unknownItem
        case "SERVICE_UNAVAILABLE": .serviceUnavailable
        case "CHANGE_TOKEN_EXPIRED": .tokenExpired
        default: code(status: status) ?? .invalidRequest
        }
    }

    /// The meaning of a status by itself; `nil` if it has none for a request of this client.
    static func code(status: Int) -> Code? {
        switch status {
        case 401, 421: .notAuthenticated
        case 403: .permissionDenied
        case 413: .limitExceeded
        case 429: .rateLimited
        case 500...: .serviceUnavailable
        default: nil
        }
    }
}
