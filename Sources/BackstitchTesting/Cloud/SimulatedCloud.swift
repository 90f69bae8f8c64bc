import Threading
public import BackstitchCore
import BackstitchSync

/// A server in memory, with the rules of CloudKit: users, each with a database of zones of records.
///
/// Devices talk to it through connections, see ``connection(user:device:)``. Everything is
/// deterministic: no real clock, no system randomness, no tasks of its own. All calls are safe from
/// any task; each takes effect as a whole.
///
/// ```swift
/// let cloud = SimulatedCloud()
/// let phone = cloud.connection(user: "u", device: "phone")
/// let laptop = cloud.connection(user: "u", device: "laptop")
/// ```
public final class SimulatedCloud: Sendable {
    /// Choices that a server makes, and that clients must be able to live with.
    public struct Options: Hashable, Sendable {
        /// Whether the error of a conflict carries the server's record. CloudKit Web Services send
        /// none.
        public var conflictsCarryServerRecord = true
        /// Whether `alreadyExists` carries the server's record.
        public var existsCarriesServerRecord = true
        /// Whether a deletion in the feed says the record's type.
        public var deletionsCarryType = true
        /// Whether a request over the limits fails in every record of it, and not as a whole.
        public var wrapsLimitExceeded = false
        /// The most records that may refer to one record with DELETE_SELF.
        public var deleteSelfSourcesMax = 750
        /// The record types and fields that exist, as in CloudKit's production environment; others
        /// are refused. Nil lets all in.
        public var declaredSchema: [String: [String: SimulatedFieldKind]]?
        /// Whether the first value of a field decides its type for all records of their type, of all
        /// users, as in CloudKit: a value of another type is refused as `invalidRequest` then. A hub
        /// takes it, and so does this server without.
        public var keepsFieldTypes = true
        /// Whether every version of every record is kept, for ``SimulatedCloud/version(tagged:)``;
        /// counts when the server is made.
        public var keepsVersions = false
        /// The most bytes of a file.
        public var fileBytesMax = 5 << 30
        /// Whether an upload that was cut continues where it stopped, as with a hub; with Apple's service
        /// it begins anew.
        public var resumesUploads = true
        /// Whether the checksums of files can't be computed by clients, as Apple's; a hub's are SHA-256.
        public var hasOpaqueChecksums = false
        /// The most requests that the log keeps; older ones are only counted.
        public var requestLogMax = 200

        /// The defaults.
        public init() {}
    }

    let state: Locked<CloudState>
    /// The server's clock; nil if each write moves the time on by a millisecond.
    let clock: ManualClock?

    /// A server without users.
    ///
    /// - Parameters:
    ///   - clock: The server's time. Without one, time starts at 1,700,000,000,000 ms and each
    ///     write moves it on by one.
    ///   - limits: What one request may carry.
    ///   - options: The choices that the server makes.
    public init(
        clock: ManualClock? = nil, limits: ServiceLimits = ServiceLimits(),
        options: Options = Options()
    ) {
        self.clock = clock
        state = Locked(
            CloudState(limits: limits, options: options, advancesItself: clock == nil))
    }

    /// The limits of one request, from the next request on.
    public var limits: ServiceLimits {
        get { state.withLock { $0.limits } }
        set { state.withLock { $0.limits = newValue } }
    }

    /// The choices that the server makes, from the next request on.
    public var options: Options {
        get { state.withLock { $0.options } }
        set { state.withLock { $0.options = newValue } }
    }

    /// Carries out one request and tells the pokes to be delivered.
    func execute(
        _ request: ServiceRequest, from caller: Caller, info: RequestInfo,
        faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        let now = clock?.milliseconds
        let (reply, pokes) = state.withLock { state in
            if let now { state.stamp.milliseconds = now }
            let reply = state.arrive(request, from: caller, info: info, faults: &faults)
            return (reply, state.takePokes())
        }
        for poke in pokes { poke.deliver() }
        return reply
    }
}

/// Who sends a request.
struct Caller: Hashable, Sendable {
    var user: String?
    var device: String
}
