import Foundation

/// A failure that a service reports: of a whole request, or of one record in it.
public struct ServiceError: BackstitchError {
    /// The kinds of failure, each with its own reaction in a sync round.
    ///
    /// Names of CloudKit Web Services are given if they differ.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The change tag sent is not the record's (CONFLICT).
        public static let conflict = Code(.conflict)
        /// A record to be created exists (EXISTS).
        public static let alreadyExists = Code(.alreadyExists)
        /// A record to be changed does not exist (NOT_FOUND).
        public static let unknownItem = Code(.unknownItem)
        /// Another record of the same atomic request failed (ATOMIC_ERROR).
        public static let batchFailed = Code(.batchFailed)
        /// The zone does not exist (ZONE_NOT_FOUND).
        public static let zoneNotFound = Code(.zoneNotFound)
        /// The user deleted the zone.
        public static let zoneDeletedByUser = Code(.zoneDeletedByUser)
        /// The user had the app's data purged.
        public static let zonePurged = Code(.zonePurged)
        /// The user reset the key of encrypted data.
        public static let encryptedDataReset = Code(.encryptedDataReset)
        /// A change token is too old or of another epoch (BAD_REQUEST on a token call).
        public static let tokenExpired = Code(.tokenExpired)
        /// The request has too many operations or bytes, or one record has too many.
        public static let limitExceeded = Code(.limitExceeded)
        /// Too many requests (THROTTLED).
        public static let rateLimited = Code(.rateLimited)
        /// The zone is being written by others (TRY_AGAIN_LATER).
        public static let zoneBusy = Code(.zoneBusy)
        /// The service can't be used for now (TRY_AGAIN_LATER, INTERNAL_ERROR).
        public static let serviceUnavailable = Code(.serviceUnavailable)
        /// No reply arrived; whether the request took effect is not known.
        public static let network = Code(.network)
        /// The user's space is used up (QUOTA_EXCEEDED).
        public static let quotaExceeded = Code(.quotaExceeded)
        /// No user is signed in, or the credentials were refused.
        public static let notAuthenticated = Code(.notAuthenticated)
        /// The credentials belong to another user than before.
        public static let accountChanged = Code(.accountChanged)
        /// The user may not do this (ACCESS_DENIED).
        public static let permissionDenied = Code(.permissionDenied)
        /// A VALIDATE reference forbids it (VALIDATING_REFERENCE_ERROR).
        public static let referenceViolation = Code(.referenceViolation)
        /// The request or record breaks the service's rules (BAD_REQUEST).
        public static let invalidRequest = Code(.invalidRequest)
        /// The file of an asset is gone.
        public static let assetMissing = Code(.assetMissing)
        /// The service has no such call, or the client does not make it.
        public static let unsupported = Code(.unsupported)
        /// The service asks for a newer version of the client.
        public static let incompatibleVersion = Code(.incompatibleVersion)

        /// The name of the code.
        public var description: String { kind.rawValue }

        package enum Kind: String, Sendable, CaseIterable {
            case conflict, alreadyExists, unknownItem, batchFailed, zoneNotFound
            case zoneDeletedByUser, zonePurged, encryptedDataReset, tokenExpired, limitExceeded
            case rateLimited, zoneBusy, serviceUnavailable, network, quotaExceeded
            case notAuthenticated, accountChanged, permissionDenied, referenceViolation
            case invalidRequest, assetMissing, unsupported, incompatibleVersion
        }

        package let kind: Kind

        package init(_ kind: Kind) { self.kind = kind }
    }

    /// The kind of failure.
    public var code: Code
    /// The service's own words, without user data.
    public var message: String
    /// How long to wait before the next request, if the service said so.
    public var retryAfter: Duration?
    /// For conflicts, the record as the service has it, if it says so.
    public var serverRecord: ServiceRecord?
    /// The error of the network or the system that caused the failure, if there was one.
    public var cause: (any Error)?

    /// A failure by its parts.
    public init(
        _ code: Code, _ message: String = "", retryAfter: Duration? = nil,
        serverRecord: ServiceRecord? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.serverRecord = serverRecord
        self.cause = cause
    }
}

extension ServiceError {
    /// Whether two failures are equal; their causes are not compared.
    public static func == (left: ServiceError, right: ServiceError) -> Bool {
        left.code == right.code && left.message == right.message
            && left.retryAfter == right.retryAfter && left.serverRecord == right.serverRecord
    }
}

extension ServiceError.Code {
    package init?(rawValue: String) {
        guard let kind = Kind(rawValue: rawValue) else { return nil }
        self.init(kind)
    }

    package var rawValue: String { kind.rawValue }

    package static let allCases = Kind.allCases.map { Self($0) }
}

extension ServiceError {
    package init(
        _ code: Code, _ message: String = "", retryAfterSeconds: Double?,
        serverRecord: ServiceRecord? = nil
    ) {
        self.init(code, message, serverRecord: serverRecord)
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// ``retryAfter`` in seconds, as replies give it. Zero, negative, infinite and NaN become nil.
    package var retryAfterSeconds: Double? {
        get { retryAfter.map { Double($0.wholeMilliseconds) / 1_000 } }
        set {
            retryAfter = newValue.flatMap { seconds in
                guard seconds.isFinite, seconds > 0 else { return nil }
                return .milliseconds(Int64(min(seconds * 1_000, 1e12)))
            }
        }
    }
}
