/// A fault that a test plans.
public struct ScriptedFault: Hashable, Sendable {
    /// How long a fault lasts.
    public enum Duration: Hashable, Sendable {
        /// For a number of requests.
        case requests(Int)
        /// Until ``SimulatedRecordService/clearFaults(of:)``.
        case untilCleared
    }

    /// The kind of fault.
    public var kind: FaultKind
    /// The requests that meet it; nil is all that it applies to.
    public var request: RequestKind?
    /// How many such requests go well before.
    public var skip: Int
    /// How long the fault lasts.
    public var duration: Duration
    /// The seconds to wait, for errors that tell them.
    public var retryAfterSeconds: Double?
    /// The record that fails, for kinds that fail one; nil is any. Requests without it go well.
    public var recordName: String?
    /// For `lateExecution`, how many other requests pass before the request is applied: 0 is right
    /// before the next one.
    public var lateBy: Int
    /// For `stuckFeed`, whether the pages have two tokens in turn, and not the same one.
    public var alternates: Bool

    /// A fault of the next request that it applies to.
    public init(
        _ kind: FaultKind, on request: RequestKind? = nil, skip: Int = 0,
        for duration: Duration = .requests(1), retryAfterSeconds: Double? = nil,
        recordName: String? = nil, lateBy: Int = 0, alternates: Bool = false
    ) {
        self.kind = kind
        self.request = request
        self.skip = skip
        self.duration = duration
        self.retryAfterSeconds = retryAfterSeconds
        self.recordName = recordName
        self.lateBy = lateBy
        self.alternates = alternates
    }
}
