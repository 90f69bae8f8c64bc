import Backstitch
import BackstitchSync
import Foundation
import Terminal

/// The JSON of what the engine does that synchronises a store. Its keys are documented in the help of
/// `inspect`, and never change their meaning.
struct EngineDocument: Encodable {
    struct Request: Encodable {
        let number: Int
        let call: String
        let date: String
        let milliseconds: Int64?
        let records: Int?
        let error: String?
    }

    struct Round: Encodable {
        let trigger: String
        let date: String
        let milliseconds: Int64
        let pulled: Int
        let pushed: Int
        let conflicts: Int
        let parked: Int
        let error: String?
    }

    struct Queue: Encodable {
        let next: String?
        let due: String?
        let notBefore: String?
        let calls: Int
        let offline: Bool
    }

    struct Lane: Encodable {
        let name: String
        let running: Int
        let waiting: Int
        let delayed: Int
        let nextAttempt: String?
        let done: Int
        let failed: Int
        let error: String?
    }

    let running: Bool
    let zone: String
    let status: String
    let code: String?
    let nextAttempt: String?
    let trigger: String?
    let queue: Queue?
    let lanes: [Lane]?
    let rounds: [Round]
    let requests: [Request]

    /// - Returns: nil if no engine of this version synchronised the store.
    init?(of store: Store) {
        guard let sign = EngineSign(of: store), let report = sign.report else { return nil }
        running = sign.isTaken && report.status != "stopped"
        zone = report.zone
        status = running ? report.status : "stopped"
        code = report.code
        nextAttempt = running ? report.nextAttempt.map(Self.utc) : nil
        trigger = running ? report.trigger : nil
        // What an engine that has ended had before it is not any more.
        let waiting = report.queue
        queue =
            running
            ? Queue(
                next: waiting.next, due: waiting.due.map(Self.utc),
                notBefore: waiting.deadline.map(Self.utc), calls: waiting.calls,
                offline: waiting.isOffline)
            : nil
        lanes = (running ? report.lanes : nil)?.map {
            Lane(
                name: $0.name, running: $0.running, waiting: $0.waiting, delayed: $0.delayed,
                nextAttempt: $0.nextAttempt.map(Self.utc), done: $0.done, failed: $0.failed,
                error: $0.error)
        }
        rounds = report.rounds.reversed().map {
            Round(
                trigger: $0.trigger, date: Self.utc($0.began), milliseconds: $0.milliseconds,
                pulled: $0.pulled, pushed: $0.pushed, conflicts: $0.conflicts, parked: $0.parked,
                error: $0.error)
        }
        requests = report.requests.reversed().map {
            Request(
                number: $0.number, call: $0.call, date: Self.utc($0.began),
                milliseconds: $0.milliseconds, records: $0.records, error: $0.error)
        }
    }

    /// What it does, in a line.
    var text: String {
        guard running else { return "none runs" + lastRound }
        let reason = code.map { " (\($0))" } ?? ""
        let next = nextAttempt.map { ", next attempt \($0)" } ?? ""
        return "\(status)\(reason)\(next)\(lastRound)"
    }

    private var lastRound: String {
        guard let last = rounds.first else { return "" }
        let result = last.error ?? "pulled \(last.pulled.grouped), pushed \(last.pushed.grouped)"
        return "; last round \(last.date): \(result)"
    }

    private static func utc(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).utc
    }
}
