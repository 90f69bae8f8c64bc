import BackstitchCore
import BackstitchStore
import Foundation
import LMDB

/// Notes what an engine does, for ``EngineReport``, while it has the store's lease.
///
/// The file is written when a round ends, and before that at most every ``pauseMilliseconds``.
struct EngineRecorder {
    private static let pauseMilliseconds: Int64 = 250

    private let sign: EngineSign?
    private var report: EngineReport
    private var roundBegan: Int64 = 0
    private var requestCount = 0
    private var written: Int64?
    /// Whether the engine has the lease: another one's file is left alone.
    private var isOn = false

    init(_ store: Store, zone: String) {
        sign = EngineSign(of: store)
        report = EngineReport(zone: zone)
    }

    /// Goes on with what the engine before has told of the same zone.
    mutating func takeLease(zone: String) {
        guard !isOn else { return }
        isOn = true
        let before = sign?.report.flatMap { $0.zone == zone ? $0 : nil }
        if zone != report.zone { report = EngineReport(zone: zone) }
        report.rounds = before?.rounds ?? []
        // What was under way when its process ended is not any more.
        report.requests = before?.requests.filter { $0.milliseconds != nil } ?? []
        requestCount = report.requests.last?.number ?? 0
    }

    mutating func giveBackLease() { isOn = false }

    mutating func note(
        _ status: SyncStatus, nextAttempt: Int64?, _ queue: EngineReport.Queue, now: Int64
    ) {
        let (word, code) = status.words
        let isNews = (report.status, report.code, report.nextAttempt) != (word, code, nextAttempt)
        guard isNews || report.queue != queue else { return }
        (report.status, report.code, report.nextAttempt) = (word, code, nextAttempt)
        report.queue = queue
        write(now: now, atOnce: isNews && report.trigger == nil || status == .stopped)
    }

    /// - Parameter lanes: How the transfers of files stand.
    mutating func note(_ lanes: [EngineReport.Lane], now: Int64) {
        guard report.lanes != lanes else { return }
        report.lanes = lanes
        // The last news of a lane is not left out.
        write(now: now, atOnce: lanes.allSatisfy(\.isIdle))
    }

    mutating func begin(_ trigger: SyncTrigger, now: Int64) {
        report.trigger = trigger.rawValue
        roundBegan = now
    }

    mutating func end(_ result: SyncReport?, error: String?, now: Int64) {
        guard let trigger = report.trigger else { return }
        report.trigger = nil
        report.rounds.append(
            EngineReport.EndedRound(
                trigger: trigger, began: roundBegan, milliseconds: now - roundBegan,
                pulled: result?.pulledRecords ?? 0, pushed: result?.pushedRecords ?? 0,
                conflicts: result?.conflicts ?? 0, parked: result?.parkedRecords ?? 0,
                error: error))
        if report.rounds.count > EngineReport.roundsMax { report.rounds.removeFirst() }
        write(now: now, atOnce: true)
    }

    /// - Returns: The number of the request.
    mutating func beginRequest(_ call: String, now: Int64) -> Int {
        requestCount += 1
        report.requests.append(
            EngineReport.Request(number: requestCount, call: call, began: now))
        if report.requests.count > EngineReport.requestsMax { report.requests.removeFirst() }
        write(now: now, atOnce: false)
        return requestCount
    }

    mutating func endRequest(_ number: Int, records: Int?, error: String?, now: Int64) {
        guard let place = report.requests.lastIndex(where: { $0.number == number }) else { return }
        report.requests[place].milliseconds = now - report.requests[place].began
        report.requests[place].records = records
        report.requests[place].error = error
        write(now: now, atOnce: false)
    }

    private mutating func write(now: Int64, atOnce: Bool) {
        guard isOn, let sign else { return }
        if !atOnce, let written, (0..<Self.pauseMilliseconds).contains(now - written) { return }
        guard let text = try? JSONEncoder().encode(report) else { return }
        written = now
        sign.file.write(Array(text))
    }
}

extension EngineReport.Queue {
    /// What waits to begin in an engine; nothing in one that has ended.
    init(_ machine: EngineMachine) {
        self.init()
        guard machine.ending == nil else { return }
        let queue = machine.queue
        next = (queue.later ?? queue.known?.trigger)?.rawValue
        due = queue.later == nil ? queue.known?.dueMilliseconds : nil
        deadline = queue.deadline?.dueMilliseconds
        calls = machine.waiting.all.count
        isOffline = !queue.isReachable
    }
}

extension EngineReport.Lane {
    /// How the transfers of a lane stand.
    init(
        _ lane: TransferMachine<TransferQueue.Transfer>.Lane,
        of machine: TransferMachine<TransferQueue.Transfer>, _ ended: TransferQueue.Ended?
    ) {
        self.init("\(lane)")
        for state in machine.states(in: lane) {
            switch state {
            case .running: running += 1
            case .waiting: waiting += 1
            case .delayed(let due):
                delayed += 1
                nextAttempt = min(due, nextAttempt ?? due)
            }
        }
        guard let ended else { return }
        (done, failed, error) = (ended.well, ended.otherwise, ended.code)
    }
}

extension SyncStatus {
    /// The name, and the code of the error that causes it.
    fileprivate var words: (String, String?) {
        switch self {
        case .idle: ("idle", nil)
        case .pulling: ("pulling", nil)
        case .pushing: ("pushing", nil)
        case .backingOff: ("backingOff", nil)
        case .blocked(let code): ("blocked", code.description)
        case .suspended(let code): ("suspended", code.description)
        case .standby: ("standby", nil)
        case .offline: ("offline", nil)
        case .stopped: ("stopped", nil)
        }
    }
}
