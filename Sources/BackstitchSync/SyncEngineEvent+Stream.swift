public import BackstitchCore
public import BackstitchLog
import BackstitchStore
import Foundation
import Threading

/// A report of a sync engine at work.
public enum SyncEngineEvent: Sendable {
    /// A round began.
    case started(SyncTrigger)
    /// A page was pulled or a batch pushed.
    ///
    /// `pushTotal` is the number of records that the round has pushed and has still to push; nil
    /// before the push begins. There is no pull total: services do not report one.
    case progress(pulledRecords: Int, pushedRecords: Int, pushTotal: Int?)
    /// A move to another zone prepared some of the store's records; their upload follows.
    case moving(records: Int, total: Int)
    /// A round ended, and everything that could be exchanged was.
    case finished(SyncReport)
    /// A round ended early; what was not exchanged stays pending.
    case failed(SyncError)
    /// A file is on its way: so many of its bytes were transferred.
    case transferring(Asset, bytes: Int64, isUpload: Bool)
    /// A record was changed on both sides; the journal has both versions.
    case conflict(RecordConflict)
    /// A record can't be pushed as it is.
    case parked(ParkedRecord)
    /// A record that the service delivered can't be stored. It is asked for again later.
    case rejected(recordName: String, reason: String)
    /// The service could not deliver a record, or not take it, for a reason that may pass. The round
    /// exchanges the others, and this one is tried again later.
    case undelivered(recordName: String, ServiceError)
    /// The service lost the zone, or its user deleted it.
    case zoneLost(ServiceError.Code)

    /// What the machine tells of a round.
    ///
    /// - Parameter report: That of the round.
    init(_ notice: EngineMachine.Notice, _ report: SyncReport) {
        self =
            switch notice {
            case .started(let trigger): .started(trigger)
            case .finished: .finished(report)
            case .failed(let error): .failed(error)
            }
    }
}

/// The result of a round.
public struct SyncReport: Sendable {
    /// The trigger of the round.
    public internal(set) var trigger: SyncTrigger
    /// The records that the round changed here, by entity.
    public internal(set) var changes: ChangeSet
    /// The records that were delivered by the service, without those that can't be stored.
    public internal(set) var pulledRecords = 0
    /// How many of them had a version that this device knew already: usually its own pushes, which
    /// come back with the next changes.
    public internal(set) var echoedRecords = 0
    /// The records whose changes the service took.
    public internal(set) var pushedRecords = 0
    /// The records that were changed on both sides.
    public internal(set) var conflicts = 0
    /// The records that were parked.
    public internal(set) var parkedRecords = 0
    /// The records that the service could not deliver or take by themselves, or delivered in a form that
    /// can't be stored. They are tried again later.
    public internal(set) var undeliveredRecords = 0
    /// The records that the service delivered and that can't be stored. They count as undelivered, too, unless
    /// no record can have their names, or the store has no number for their types.
    public internal(set) var rejectedRecords = 0
    /// Whether the service says that it has more changes and repeats its token. The next round asks again.
    public internal(set) var hasMoreToPull = false
    /// The records that were not pushed, because files of theirs are not uploaded yet.
    public internal(set) var recordsWaitingForFiles = 0
    /// The files that records wait for.
    var uploads: [AssetUpload] = []

    /// The report of a round and of the one before it, for one call.
    func following(_ earlier: SyncReport) -> SyncReport {
        var report = self
        report.changes = earlier.changes
        report.changes.add(changes)
        report.pulledRecords += earlier.pulledRecords
        report.echoedRecords += earlier.echoedRecords
        report.pushedRecords += earlier.pushedRecords
        report.conflicts += earlier.conflicts
        report.parkedRecords += earlier.parkedRecords
        report.undeliveredRecords = max(report.undeliveredRecords, earlier.undeliveredRecords)
        report.rejectedRecords = max(report.rejectedRecords, earlier.rejectedRecords)
        return report
    }
}

extension SyncEngineEvent {
    /// Events in the order in which they happened.
    ///
    /// A reader that falls more than ``pendingMax`` events behind loses progress events first, then the
    /// oldest other events; ``SyncEngine/status`` and the store are always current.
    public struct Stream: AsyncSequence, Sendable {
        /// The most events that wait for a reader.
        public static let pendingMax = 1_024

        let stream: AsyncStream<SyncEngineEvent>

        /// Starts reading.
        public func makeAsyncIterator() -> AsyncStream<SyncEngineEvent>.Iterator {
            stream.makeAsyncIterator()
        }
    }
}

/// Hands events to every stream.
final class EventHub: Sendable {
    private struct State {
        var next = 0
        var readers: [Int: AsyncStream<SyncEngineEvent>.Continuation] = [:]
        var isFinished = false
        var roundStart: Date?
    }

    private let state = Locked(State())
    private let monitor: (@Sendable (MonitorEvent) -> Void)?
    private let clock: any StoreClock

    init(monitor: (@Sendable (MonitorEvent) -> Void)?, clock: any StoreClock) {
        self.monitor = monitor
        self.clock = clock
    }

    func stream() -> SyncEngineEvent.Stream {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SyncEngineEvent.self,
            bufferingPolicy: .bufferingNewest(SyncEngineEvent.Stream.pendingMax))
        let number = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.readers[state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return SyncEngineEvent.Stream(stream: stream)
        }
        continuation.onTermination = { [state] _ in
            state.withLock { $0.readers[number] = nil }
        }
        return SyncEngineEvent.Stream(stream: stream)
    }

    func send(_ event: SyncEngineEvent) {
        let readers = state.withLock { Array($0.readers.values) }
        for reader in readers { reader.yield(event) }
        if let monitor { tell(event, monitor) }
    }

    private func tell(_ event: SyncEngineEvent, _ monitor: (MonitorEvent) -> Void) {
        let now = clock.now
        func end(counts: [String: Int] = [:], error: String? = nil) {
            let start = state.withLock { state in
                defer { state.roundStart = nil }
                return state.roundStart
            }
            monitor(
                MonitorEvent("sync.round", date: now, since: start, counts: counts, error: error))
        }
        switch event {
        case .started: state.withLock { $0.roundStart = now }
        case .progress, .moving, .transferring: break
        case .finished(let report):
            end(counts: [
                "pulled": report.pulledRecords, "echoed": report.echoedRecords,
                "pushed": report.pushedRecords, "conflicts": report.conflicts,
                "parked": report.parkedRecords, "undelivered": report.undeliveredRecords,
                "rejected": report.rejectedRecords,
            ])
        case .failed(let error):
            let cause = error.serviceError.map { ".\($0.code)" } ?? ""
            end(error: "\(error.code)\(cause)")
        case .conflict: monitor(MonitorEvent("sync.conflict", date: now))
        case .parked(let record):
            monitor(MonitorEvent("sync.parked", date: now, error: record.code?.description))
        case .rejected: monitor(MonitorEvent("sync.rejected", date: now))
        case .undelivered(_, let error):
            monitor(MonitorEvent("sync.undelivered", date: now, error: error.code.description))
        case .zoneLost(let code):
            monitor(MonitorEvent("sync.zoneLost", date: now, error: code.description))
        }
    }

    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
