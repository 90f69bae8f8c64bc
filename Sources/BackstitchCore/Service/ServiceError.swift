/// A failure that a service reports: of a whole request, or of one record in it.
public struct ServiceError: Error, Hashable, Sendable {
    /// The kinds of failure, each with its own reaction in a sync round.
    ///
    /// Names of CloudKit Web Services are given if they differ.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The change tag sent is not the record's (CONFLICT).
        case conflict
        /// A record to be created exists (EXISTS).
        case alreadyExists
        /// A record to be changed does not exist (NOT_FOUND).
        case unknownItem
        /// Another record of the same atomic request failed (ATOMIC_ERROR).
        case batchFailed
        /// The zone does not exist (ZONE_NOT_FOUND).
        case zoneNotFound
        /// The user deleted the zone.
        case zoneDeletedByUser
        /// The user had the app's data purged.
        case zonePurged
        /// The user reset the key of encrypted data.
        case encryptedDataReset
        /// A change token is too old or of another epoch (BAD_REQUEST on a token call).
        case tokenExpired
        /// The request has too many operations or bytes, or one record has too many.
        case limitExceeded
        /// Too many requests (THROTTLED).
        case rateLimited
        /// The zone is being written by others (TRY_AGAIN_LATER).
        case zoneBusy
        /// The service can't be used for now (TRY_AGAIN_LATER, INTERNAL_ERROR).
        case serviceUnavailable
        /// No reply arrived; whether the request took effect is not known.
        case network
        /// The user's space is used up (QUOTA_EXCEEDED).
        case quotaExceeded
        /// No user is signed in, or the credentials were refused.
        case notAuthenticated
        /// The credentials are those of another user than before.
        case accountChanged
        /// The user may not do this (ACCESS_DENIED).
        case permissionDenied
        /// A VALIDATE reference forbids it (VALIDATING_REFERENCE_ERROR).
        case referenceViolation
        /// The request or record breaks the service's rules (BAD_REQUEST).
        case invalidRequest
        /// The file of an asset is gone.
        case assetMissing
        /// The service has no such call, or the client does not make it.
        case unsupported
        /// The service asks for a newer version of the client.
        case incompatibleVersion
    }

    /// The kind of failure.
    public var code: Code
    /// The service's own words, without user data.
    public var reason: String
    /// The seconds after which the service wants to be asked again.
    public var retryAfterSeconds: Double?
    /// For conflicts, the record as the service has it, if it says so.
    public var serverRecord: ServiceRecord?

    /// A failure by its parts.
    public init(
        _ code: Code, reason: String = "", retryAfterSeconds: Double? = nil,
        serverRecord: ServiceRecord? = nil
    ) {
        self.code = code
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.serverRecord = serverRecord
    }
}

extension ServiceError: CustomStringConvertible {
    /// The code and the service's words.
    public var description: String {
        reason.isEmpty ? code.rawValue : "\(code.rawValue): \(reason)"
    }
}
