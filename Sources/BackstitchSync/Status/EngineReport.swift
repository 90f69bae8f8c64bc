import BackstitchCore
package import BackstitchStore
import Foundation
import LMDB

/// What the engine that synchronises a store does, and did last, as other programs may see it.
///
/// It has codes, counts and times; no values, names of records, users or credentials. Times are
/// milliseconds since 1970.
package struct EngineReport: Codable, Hashable, Sendable {
    /// A request to the service.
    package struct Request: Codable, Hashable, Sendable {
        /// Requests are numbered from 1 in the order in which they begin.
        package let number: Int
        /// The call of ``RecordService``.
        package let call: String
        package let began: Int64
        /// How long it took; nil while it is under way.
        package internal(set) var milliseconds: Int64?
        /// How many records went or came; nil if the call has none, or failed.
        package internal(set) var records: Int?
        /// The code of the error that it ended with.
        package internal(set) var error: String?
    }

    /// A round that has ended.
    package struct EndedRound: Codable, Hashable, Sendable {
        package let trigger: String
        package let began: Int64
        package let milliseconds: Int64
        package let pulled: Int
        package let pushed: Int
        package let conflicts: Int
        package let parked: Int
        /// Why it ended early.
        package let error: String?
    }

    /// What is to begin when the round that runs has ended, or when its time has come.
    package struct Queue: Codable, Hashable, Sendable {
        /// Why the next round begins; nil if none is to.
        package internal(set) var next: String?
        /// When it begins; nil if it follows the round that runs.
        package internal(set) var due: Int64?
        /// Before when no round begins by itself, after a failure.
        package internal(set) var deadline: Int64?
        /// How many calls of the application wait for what runs next.
        package internal(set) var calls = 0
        /// Whether the application says that there is no network.
        package internal(set) var isOffline = false

        package init() {}
    }

    /// The transfers of files in one direction.
    package struct Lane: Codable, Hashable, Sendable {
        package let name: String
        package internal(set) var running = 0
        package internal(set) var waiting = 0
        /// Those that failed and are tried again later.
        package internal(set) var delayed = 0
        /// When the first of them is.
        package internal(set) var nextAttempt: Int64?
        /// How many have ended well, and otherwise, since the engine was made.
        package internal(set) var done = 0
        package internal(set) var failed = 0
        /// The code of the last failure.
        package internal(set) var error: String?

        package var isIdle: Bool { running + waiting + delayed == 0 }

        package init(_ name: String) { self.name = name }
    }

    /// The most requests and rounds that are kept.
    package static let requestsMax = 60
    package static let roundsMax = 30

    package let zone: String
    /// What it does, by the name that the engine's status has.
    package internal(set) var status = "idle"
    /// The code of the error that blocks or suspends it.
    package internal(set) var code: String?
    /// When it goes on by itself; nil if it does not.
    package internal(set) var nextAttempt: Int64?
    /// Why the round that runs began; nil if none runs.
    package internal(set) var trigger: String?
    package internal(set) var queue = Queue()
    /// Nil before the first transfer.
    package internal(set) var lanes: [Lane]?
    package internal(set) var requests: [Request] = []
    package internal(set) var rounds: [EndedRound] = []

    init(zone: String) { self.zone = zone }
}

/// Where the engine that synchronises a store tells others what it does.
package struct EngineSign: Sendable {
    private let directory: String
    let file: StatusFile

    /// - Returns: nil for a store that no other program can look at.
    package init?(of store: Store) {
        guard store.environment.isOnDisk else { return nil }
        directory = store.environment.directory
        file = StatusFile(directory + "/sync.status")
    }

    /// What the last engine told; nil if none could tell.
    package var report: EngineReport? {
        file.read().flatMap { try? JSONDecoder().decode(EngineReport.self, from: Data($0)) }
    }

    /// Another number whenever an engine has told something.
    package var version: UInt64 { file.version }

    /// Whether an engine has the store's lease, in any process of this system.
    package var isTaken: Bool { FileLease.isTaken(at: directory + "/sync.lock") }
}
