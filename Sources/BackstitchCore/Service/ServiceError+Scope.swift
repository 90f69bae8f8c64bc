/// What a failure says something about, and when another try helps: the one place that sorts the codes.
extension ServiceError.Code {
    /// What a failure is about; requests that are not about it may go well.
    package enum Scope: Hashable, Sendable, CaseIterable {
        /// One record of the request, or how many there are.
        case record
        /// Requests of its kind, or all of them for now.
        case request
        /// The zone, which is gone.
        case zone
        /// The user, or the program: it lasts until something changes outside.
        case account
    }

    /// When another try may go well.
    package enum Retry: Hashable, Sendable {
        case now
        /// When some time went by.
        case later
        /// If the record is another, not otherwise.
        case never
        case after(Remedy)
    }

    /// What has to be done before another try.
    package enum Remedy: Hashable, Sendable {
        /// The service's version is merged.
        case merge
        /// A lookup tells whether the record is gone.
        case lookUp
        /// The request is made smaller.
        case split
        /// The records that this one refers to, or that refer to it, are settled.
        case references
        /// The file is uploaded again.
        case upload
        /// The change token is dropped.
        case newToken
        /// The zone is made again, and filled.
        case newZone
        /// The application decides what becomes of the records.
        case decision
        /// The user or the program does something about it.
        case change
    }

    /// What the failure is about, if it is told of a whole request. Told of one record, failures of
    /// requests and accounts still concern the others.
    package var scope: Scope { rule.scope }

    /// When another try may go well.
    package var retry: Retry { rule.retry }

    private var rule: (scope: Scope, retry: Retry) {
        switch kind {
        case .conflict: (.record, .after(.merge))
        case .alreadyExists: (.record, .after(.merge))
        case .unknownItem: (.record, .after(.lookUp))
        case .batchFailed: (.record, .now)
        case .limitExceeded: (.record, .after(.split))
        case .referenceViolation: (.record, .after(.references))
        case .invalidRequest: (.record, .never)
        case .assetMissing: (.record, .after(.upload))
        case .tokenExpired: (.request, .after(.newToken))
        case .rateLimited: (.request, .later)
        case .zoneBusy: (.request, .later)
        case .serviceUnavailable: (.request, .later)
        case .network: (.request, .later)
        case .zoneNotFound: (.zone, .after(.newZone))
        case .encryptedDataReset: (.zone, .after(.newZone))
        case .zoneDeletedByUser: (.zone, .after(.decision))
        case .zonePurged: (.zone, .after(.decision))
        case .permissionDenied: (.account, .never)
        case .quotaExceeded: (.account, .after(.change))
        case .notAuthenticated: (.account, .after(.change))
        case .accountChanged: (.account, .after(.change))
        case .unsupported: (.account, .after(.change))
        case .incompatibleVersion: (.account, .after(.change))
        }
    }
}
