public import BackstitchCore

/// The ways in which a connection or its server can misbehave.
///
/// The kinds named `error.<code>` fail a whole request, which is not applied; those named
/// `record.<code>` fail one record of it.
public enum FaultKind: String, Hashable, Sendable, CaseIterable {
    /// The request is applied, then `network` is thrown.
    case lostReply
    /// The request never arrives; `network` is thrown.
    case lostRequest
    /// `network` is thrown; the request is applied later, together with a later request of any
    /// device.
    case lateExecution
    /// The request is applied twice; the second reply is returned.
    case duplicateExecution
    /// A read is answered from an older state: records in their version before the last write, with
    /// the token that was sent, so that later pages make up for it.
    case staleRead
    /// The records or zones of a page come in any order.
    case reorderedFeed
    /// A page is empty and has another one after it.
    case emptyPages
    /// Each page is empty, has another one after it, and repeats the token, or the one before that, for as
    /// long as the fault lasts.
    case stuckFeed
    /// A proxy answers in the place of the server, with any status and a page of its own. The request may
    /// have been applied. ``proxyAnswers`` has the errors that a client makes of such answers.
    case proxyAnswer
    /// One record of a page can't be delivered, or one of another request is not read or taken, for a reason
    /// that passes.
    case recordError
    /// A page has one or two records only.
    case smallPages
    /// The server takes half of the operations only; more fail with `limitExceeded`.
    case smallLimits
    /// Some records of a modify request fail with `serviceUnavailable`.
    case partialFailure
    /// A conflict does not tell the record as the server has it.
    case conflictWithoutServerRecord
    /// `alreadyExists` does not tell the record as the server has it.
    case existsWithoutServerRecord
    /// All tokens of the zone expire before the request.
    case tokenExpiry
    /// All tokens of the database expire before the request.
    case databaseTokenExpiry
    /// The user deletes the zone before the request.
    case zoneDeletion
    /// The user has the zone purged before the request.
    case zonePurge
    /// The user resets the key of encrypted data before the request.
    case encryptedDataReset
    /// `limitExceeded` is told for every record, and not for the request.
    case limitExceededWrapped
    /// Another user is signed in for this and some of the following requests.
    case accountSwitch
    /// No client is notified of the write.
    case droppedPoke
    /// `rateLimited` with the seconds to wait.
    case rateLimitedRetryAfter
    /// `zoneBusy` with the seconds to wait.
    case zoneBusyRetryAfter
    /// `serviceUnavailable` with the seconds to wait.
    case serviceUnavailableRetryAfter
    /// The request fails with `conflict`.
    case errorConflict = "error.conflict"
    /// The request fails with `alreadyExists`.
    case errorAlreadyExists = "error.alreadyExists"
    /// The request fails with `unknownItem`.
    case errorUnknownItem = "error.unknownItem"
    /// The request fails with `batchFailed`.
    case errorBatchFailed = "error.batchFailed"
    /// The request fails with `zoneNotFound`.
    case errorZoneNotFound = "error.zoneNotFound"
    /// The request fails with `zoneDeletedByUser`.
    case errorZoneDeletedByUser = "error.zoneDeletedByUser"
    /// The request fails with `zonePurged`.
    case errorZonePurged = "error.zonePurged"
    /// The request fails with `encryptedDataReset`.
    case errorEncryptedDataReset = "error.encryptedDataReset"
    /// The request fails with `tokenExpired`.
    case errorTokenExpired = "error.tokenExpired"
    /// The request fails with `limitExceeded`.
    case errorLimitExceeded = "error.limitExceeded"
    /// The request fails with `rateLimited`.
    case errorRateLimited = "error.rateLimited"
    /// The request fails with `zoneBusy`.
    case errorZoneBusy = "error.zoneBusy"
    /// The request fails with `serviceUnavailable`.
    case errorServiceUnavailable = "error.serviceUnavailable"
    /// The request fails with `network`.
    case errorNetwork = "error.network"
    /// The request fails with `quotaExceeded`.
    case errorQuotaExceeded = "error.quotaExceeded"
    /// The request fails with `notAuthenticated`.
    case errorNotAuthenticated = "error.notAuthenticated"
    /// The request fails with `accountChanged`.
    case errorAccountChanged = "error.accountChanged"
    /// The request fails with `permissionDenied`.
    case errorPermissionDenied = "error.permissionDenied"
    /// The request fails with `referenceViolation`.
    case errorReferenceViolation = "error.referenceViolation"
    /// The request fails with `invalidRequest`.
    case errorInvalidRequest = "error.invalidRequest"
    /// The request fails with `assetMissing`.
    case errorAssetMissing = "error.assetMissing"
    /// The request fails with `unsupported`.
    case errorUnsupported = "error.unsupported"
    /// The request fails with `incompatibleVersion`.
    case errorIncompatibleVersion = "error.incompatibleVersion"
    /// One record fails with `limitExceeded`.
    case recordLimitExceeded = "record.limitExceeded"
    /// One record fails with `rateLimited`.
    case recordRateLimited = "record.rateLimited"
    /// One record fails with `zoneBusy`.
    case recordZoneBusy = "record.zoneBusy"
    /// One record fails with `serviceUnavailable`.
    case recordServiceUnavailable = "record.serviceUnavailable"
    /// One record fails with `network`.
    case recordNetwork = "record.network"
    /// One record fails with `quotaExceeded`.
    case recordQuotaExceeded = "record.quotaExceeded"
    /// One record fails with `notAuthenticated`.
    case recordNotAuthenticated = "record.notAuthenticated"
    /// One record fails with `permissionDenied`.
    case recordPermissionDenied = "record.permissionDenied"
    /// One record fails with `referenceViolation`.
    case recordReferenceViolation = "record.referenceViolation"
    /// One record fails with `invalidRequest`.
    case recordInvalidRequest = "record.invalidRequest"
    /// One record fails with `assetMissing`.
    case recordAssetMissing = "record.assetMissing"
    /// One record fails with `incompatibleVersion`.
    case recordIncompatibleVersion = "record.incompatibleVersion"
}

extension FaultKind {
    /// The statuses with which proxies answer, and what a client of CloudKit Web Services makes of an answer
    /// with each and a body in HTML. `limitExceeded` is for requests that can be made smaller: of a push of
    /// one record this record alone fails, with `serviceUnavailable`.
    package static let proxyAnswers: [(status: Int, code: ServiceError.Code)] = {
        var answers: [(status: Int, code: ServiceError.Code)] = [
            (200, .network), (401, .notAuthenticated), (403, .permissionDenied),
            (413, .limitExceeded), (429, .rateLimited),
        ]
        let others = [
            302, 400, 404, 405, 407, 408, 409, 410, 412, 422, 451, 499, 500, 502, 503, 504,
        ]
        for status in others { answers.append((status, .serviceUnavailable)) }
        return answers
    }()

    /// The kind that fails a whole request with a code.
    public static func error(_ code: ServiceError.Code) -> FaultKind {
        guard let kind = FaultKind(rawValue: "error." + code.rawValue) else {
            preconditionFailure("Every code has a kind of fault.")
        }
        return kind
    }

    /// The code that whole requests fail with; nil for other kinds.
    public var requestCode: ServiceError.Code? {
        switch self {
        case .rateLimitedRetryAfter: return .rateLimited
        case .zoneBusyRetryAfter: return .zoneBusy
        case .serviceUnavailableRetryAfter: return .serviceUnavailable
        default:
            guard rawValue.hasPrefix("error.") else { return nil }
            return ServiceError.Code(rawValue: String(rawValue.dropFirst(6)))
        }
    }

    /// The code that one record fails with; nil for other kinds.
    public var recordCode: ServiceError.Code? {
        if self == .recordError { return .serviceUnavailable }
        guard rawValue.hasPrefix("record.") else { return nil }
        return ServiceError.Code(rawValue: String(rawValue.dropFirst(7)))
    }

    /// Whether a request of a kind can meet this fault.
    public func applies(to request: RequestKind) -> Bool {
        switch self {
        case .lostReply, .lostRequest, .proxyAnswer: true
        case .lateExecution, .duplicateExecution: request.isWrite
        case .staleRead: [.lookup, .zoneChanges, .databaseChanges].contains(request)
        case .recordError: [.modify, .lookup, .zoneChanges].contains(request)
        case .reorderedFeed, .emptyPages, .smallPages, .stuckFeed:
            request == .zoneChanges || request == .databaseChanges
        case .smallLimits: request == .modify || request == .lookup
        case .partialFailure, .conflictWithoutServerRecord, .existsWithoutServerRecord,
            .limitExceededWrapped, .droppedPoke:
            request == .modify
        case .tokenExpiry: request == .zoneChanges
        case .databaseTokenExpiry: request == .databaseChanges
        case .zoneDeletion, .zonePurge, .encryptedDataReset:
            [.modify, .lookup, .zoneChanges].contains(request)
        case .accountSwitch: request != .currentUser
        case .recordLimitExceeded, .recordQuotaExceeded, .recordReferenceViolation,
            .recordInvalidRequest:
            request == .modify
        default: recordCode == nil || request == .modify || request == .lookup
        }
    }
}
