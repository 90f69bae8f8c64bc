public import BackstitchCore
public import Foundation

/// Why a round ended early.
public struct SyncError: BackstitchError {
    /// The kinds of failure; new ones may join.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ name: String) { description = name }

        /// The service could not be reached or is busy; the engine tries again.
        public static let unreachable = Code("unreachable")
        /// Nothing can be exchanged until something changes outside, such as the account.
        public static let blocked = Code("blocked")
        /// The zone was deleted or purged; nothing is exchanged until the application decides.
        public static let suspended = Code("suspended")
        /// The configuration does not fit the store; nothing is exchanged until it does.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// The store failed.
        public static let store = Code("store")
        /// The disk is full, or the store has its largest size. The engine tries again and
        /// continues when there is space; what was exchanged before is kept.
        public static let storeFull = Code("storeFull")
        /// Another engine synchronises the store, here or in another process; this one takes over when
        /// that ends.
        public static let standby = Code("standby")
        /// Every call that wanted the round was cancelled; calls themselves throw `CancellationError`.
        public static let cancelled = Code("cancelled")
        /// The application said that there is no network; nothing was tried.
        public static let offline = Code("offline")
        /// The engine was stopped, or its store was closed.
        public static let stopped = Code("stopped")
    }

    /// The kind of failure.
    public let code: Code
    /// A message that says what went wrong and what to do.
    public let message: String
    /// The error of the service or the store that caused the failure, if there was one.
    public let cause: (any Error)?
    /// When the engine tries again; nil if it does not by itself.
    public var retryDate: Date? { retryMilliseconds.map { Date(milliseconds: $0) } }

    let retryMilliseconds: Int64?

    init(
        _ code: Code, _ message: String, cause: (any Error)? = nil,
        retryMilliseconds: Int64? = nil
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryMilliseconds = retryMilliseconds
    }

    /// The error of the service, if the failure comes from there.
    public var serviceError: ServiceError? { cause as? ServiceError }
}

/// The activity of a sync engine.
public enum SyncStatus: Hashable, Sendable {
    /// Not active; the last round ended well, or none was requested yet.
    case idle
    /// Pulling from the service.
    case pulling
    /// Pushing to the service.
    case pushing
    /// Waiting for the next attempt, until a time in milliseconds since 1970.
    case backingOff(until: Date)
    /// Nothing can be exchanged until something changes outside. The next trigger tries again, and
    /// a started engine does so by itself after ``SyncConfiguration/blockedRetry``.
    case blocked(ServiceError.Code)
    /// Nothing is exchanged until the application decides what to do about the lost zone.
    case suspended(ServiceError.Code)
    /// Another engine synchronises the store, here or in another process; this one takes over when
    /// that ends.
    case standby
    /// The application said that there is no network; nothing is tried until it says otherwise.
    case offline
    /// The engine was stopped, or its store was closed.
    case stopped
}
