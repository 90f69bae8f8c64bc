import BackstitchCore
import BackstitchStore

/// Why a step failed.
struct StepFailure: Equatable, Sendable, CustomStringConvertible {
    enum Kind: Equatable, Sendable {
        case cancelled
        /// The store is not as the step had it: the lease was lost, or the application began anew.
        case outdated
        case service(ServiceError)
        case sync(SyncError)
        case storeClosed
        case store(isFull: Bool)
    }

    let kind: Kind
    /// What calls throw.
    let error: any Error
    var description: String { "\(error)" }

    init(_ error: any Error) {
        self.error = error
        switch error {
        case is CancellationError: kind = .cancelled
        case is SyncPrecondition.Outdated: kind = .outdated
        case let error as ServiceError: kind = .service(error)
        case let error as SyncError: kind = .sync(error)
        case let error as StoreError where error.code == .closed: kind = .storeClosed
        default: kind = .store(isFull: (error as? StoreError)?.code == .full)
        }
    }

    static func == (one: StepFailure, other: StepFailure) -> Bool {
        one.kind == other.kind && one.description == other.description
    }

    /// The same, as a request's call throws it.
    var ofRequest: StepFailure {
        switch kind {
        case .outdated: StepFailure(SyncError.standby)
        case .service(let error):
            StepFailure(
                SyncError(
                    error.code.scope == .account ? .blocked : .unreachable,
                    "The service did not do it (\(error)). Nothing was changed here; try again "
                        + "later.", cause: error))
        default: self
        }
    }
}

/// What an engine itself ends calls and rounds with.
extension SyncError {
    static let stopped = SyncError(.stopped, "The engine was stopped. Make another one.")

    static let closed = SyncError(
        .stopped,
        "The store was closed, and the engine with it. Open the store again and make another one.")

    static let cancelled = SyncError(
        .cancelled, "The call was cancelled, and the round ended early. The rest stays pending.")

    static let offline = SyncError(
        .offline,
        "There is no network. What is pending is kept; call connectivityChanged(isReachable:) when "
            + "it is back.")

    static let standby = standby(retryMilliseconds: nil)

    static func standby(retryMilliseconds: Int64?) -> SyncError {
        SyncError(
            .standby,
            "Another engine synchronises the store. What is saved here is pushed by it; stop it to "
                + "let this one take over.", retryMilliseconds: retryMilliseconds)
    }

    /// A round that pushed or pulled a part.
    static func unreachable(_ error: ServiceError, retryMilliseconds: Int64?) -> SyncError {
        SyncError(
            .unreachable,
            "Not everything could be exchanged with the service (\(error)). The rest stays pending.",
            cause: error, retryMilliseconds: retryMilliseconds)
    }

    static func blocked(_ error: ServiceError, retryMilliseconds: Int64?) -> SyncError {
        SyncError(
            .blocked,
            "The service rejected the sync (\(error)). Pending changes are kept; sync again when "
                + "the cause is gone.", cause: error, retryMilliseconds: retryMilliseconds)
    }

    /// What a call throws if files could not be transferred; what records there were is exchanged.
    static func failure(ofTransfer error: any Error) -> any Error {
        let failure = StepFailure(error)
        switch failure.kind {
        case .service(let error):
            return error.code.scope == .account
                ? blocked(error, retryMilliseconds: nil)
                : unreachable(error, retryMilliseconds: nil)
        case .store(let isFull):
            return storeFailed(failure, isFull: isFull, retryMilliseconds: nil)
        case .storeClosed: return closed
        case .cancelled, .outdated, .sync: return error
        }
    }

    static func suspended(_ code: ServiceError.Code) -> SyncError {
        SyncError(
            .suspended,
            "The zone is gone (\(code.rawValue)). Local data is kept. Call resume(after:) to upload "
                + "it again, or to erase it.", cause: ServiceError(code))
    }

    static func storeFailed(
        _ failure: StepFailure, isFull: Bool, retryMilliseconds: Int64?
    ) -> SyncError {
        SyncError(
            isFull ? .storeFull : .store,
            "The store failed, and the round was ended: \(failure)",
            retryMilliseconds: retryMilliseconds)
    }
}
