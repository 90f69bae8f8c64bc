import Backstitch
import BackstitchSync
import CloudKitRecordService
import Terminal
import Threading

/// Synchronises a store with a service.
struct SyncCommand: Command {
    private struct Document: Encodable {
        let store: String
        let pushed: Int
        let pulled: Int
        let echoed: Int
        let conflicts: Int
        let pending: Int
        let parked: Int
        let undelivered: Int
        let rejected: Int
        let moreComing: Bool
        var retried: Int?
        var files: Int?

        init(_ report: SyncReport?, _ left: Left, path: String) {
            store = path
            pushed = report?.pushedRecords ?? 0
            pulled = report?.pulledRecords ?? 0
            echoed = report?.echoedRecords ?? 0
            conflicts = report?.conflicts ?? 0
            (pending, parked, undelivered) = (left.pending, left.parked, left.undelivered)
            rejected = report?.rejectedRecords ?? 0
            moreComing = report?.hasMoreToPull ?? false
        }
    }

    /// The records that are still to be exchanged.
    private struct Left {
        let pending: Int
        let parked: Int
        let undelivered: Int

        init(_ store: Store) throws {
            (pending, parked, undelivered) = try store.read { transaction in
                let outbox = try StoreInfo.Outbox(transaction.reader)
                return (
                    outbox.pendingRecords, outbox.parkedRecords,
                    try UndeliveredRecords.count(transaction.reader)
                )
            }
        }
    }

    /// What rounds left out, besides what the store tells.
    private struct Gaps {
        /// Whether a record can't be stored.
        var areRejected = false
        /// Whether the last round did not get all changes.
        var isMoreComing = false

        mutating func note(_ report: SyncReport) {
            if report.rejectedRecords > 0 { areRejected = true }
            isMoreComing = report.hasMoreToPull
        }
    }

    private static let zone = Syntax.Option(
        "zone", "NAME", "The zone of the store's records.")
    private static let target = Syntax.Option(
        "move-to-zone", "NAME", "Takes the store to another zone first, with everything in it.")
    private static let adopt = Syntax.Option(
        "adopt", nil, "Gives a store of another user to the signed-in user.")
    private static let policy = Syntax.Option(
        "policy", "NAME", "Who wins conflicts: serverWins unless given.")
    private static let retry = Syntax.Option(
        "retry-parked", nil, "Tries the parked records again, in the first round.")
    private static let follow = Syntax.Option(
        "follow", nil, "Goes on, and synchronises whenever another device changed something.")
    private static let files = Syntax.Option(
        "files", nil, "Downloads the files of all records too, once.")

    let name = "sync"
    let summary = "Synchronises a store with a hub, or with CloudKit."
    let syntax = Syntax(
        operands: [.store],
        options: ServiceOptions.all + [
            zone, target, adopt, policy, retry, files, follow, .json,
        ],
        notes: """
            A store belongs to the zone and the user that it was first synchronised with; another
            one is refused. --move-to-zone uploads all of its records to another zone, edits that
            were not pushed too, and --adopt to the user who is signed in; both may be given. The
            old zone stays as it is, so synchronise before. What was cut off goes on when the
            command is given again, or with --zone and the new name.
            Policies: serverWins, clientWins, lastWriterWins, keepBoth, and merge(NAME) with one of
            these for what was changed on both sides.
            The tokens can come from the environment too, so that no list of processes shows them:
            \(ServiceOptions.apiTokenVariable) and \(ServiceOptions.webTokenVariable).
            Exit codes: 0 everything is exchanged; 1 some records are parked or can't be stored, or the
            service could not deliver some or has more changes and does not give them, which a later
            round asks for again; 2 it could not be done.

            JSON: one object for each round.
              store        the path as given
              pushed       the records that the service took
              pulled       the records that came from it
              echoed       those of them that were known here: what was pushed comes back
              conflicts    how many were settled
              pending      the records that are left to push
              parked       the records that the service refused
              undelivered  the records that the service could not deliver so far, or that can't be
                           stored as they are there
              rejected     the records of this round that can't be stored as they are there
              moreComing   whether the service has more changes and repeats its token
              retried      with --retry-parked, in the first object: the records that were tried again
              files        with --files, in a last object: the files that were downloaded
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        guard !arguments.has(Self.follow) else { return nil }
        return "What was exchanged stays; the rest is pending. Run it again to go on."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let target = arguments.text(Self.target)
        let adopts = arguments.has(Self.adopt)
        guard arguments.text(Self.zone) != nil || target != nil || adopts else {
            throw UsageError("The option --zone is missing.")
        }
        let policy = try Self.policy(arguments)
        let service = try ServiceOptions.service(arguments)
        let store = try Store.open(existing: path, access: .readWrite)
        defer { store.close() }
        let claims = try store.read { try ZoneClaims($0.reader) }
        let own = claims.target ?? (claims.bound.count == 1 ? claims.bound.first : nil)
        guard let zone = arguments.text(Self.zone) ?? target ?? own else {
            throw UsageError("The option --zone is missing, and the store does not tell its zone.")
        }
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: zone, conflictPolicy: policy, syncOnSave: arguments.has(Self.follow)))
        let filesAreLeft = Locked(arguments.has(Self.files))
        let download: @Sendable () async throws -> Void = {
            guard filesAreLeft.withLock({ $0 }) else { return }
            let count = try await engine.downloadFiles()
            filesAreLeft.withLock { $0 = false }
            try Self.tell(files: count, store, path, arguments, console)
        }
        let gaps = Locked(Gaps())
        let round: @Sendable () async throws -> Void = {
            let report = try await engine.sync()
            gaps.withLock { $0.note(report) }
            try Self.tell(report, store, path, arguments, console)
            try await download()
        }
        let moves = target != nil || adopts
        let progress = console.progress(moves ? "Moving" : "Synchronising")
        let showing = Task { [events = engine.events] in
            var failed: [String: String] = [:]
            for await event in events {
                Self.show(event, progress)
                guard failed.count < Self.toldMax, let (name, reason) = event.failure else {
                    continue
                }
                failed[name] = reason
            }
            return failed
        }
        defer { showing.cancel() }
        let retried = try await arguments.has(Self.retry) ? engine.retryParked() : nil
        do {
            defer { progress.finish() }
            let report =
                try await moves
                ? engine.move(to: target ?? zone, adoptsUser: adopts) : engine.sync()
            gaps.withLock { $0.note(report) }
            try Self.tell(report, store, path, arguments, console, retried: retried)
            try await download()
        } catch let error as SyncError
            where error.code == .unreachable && arguments.has(Self.follow) && !moves
        {
            // It is tried again, as later rounds are.
            console.complain("backstitch sync: \(error)")
        }
        if arguments.has(Self.follow) {
            try await Self.follow(service, engine, console, round)
        }
        await engine.stop()
        let failed = await showing.value
        let left = try Left(store)
        let found = gaps.withLock { $0 }
        if left.undelivered > 0 || found.areRejected {
            for (name, reason) in failed.sorted(by: { $0.key < $1.key }) {
                console.complain("backstitch sync: '\(name.printable)': \(reason.printable)")
            }
        }
        let isWhole = left.parked == 0 && left.undelivered == 0
        return isWhole && !found.areRejected && !found.isMoreComing ? .success : .negative
    }

    /// The most records whose failures are told.
    private static let toldMax = 20

    /// Shows how far a round or a move has come.
    private static func show(_ event: SyncEngineEvent, _ progress: Progress) {
        switch event {
        case .moving(let records, let total):
            progress.update(done: records, total: total)
        case .progress(_, let pushed, let total?) where total > 0:
            progress.update(done: pushed, total: total)
        case .progress(let pulled, _, _):
            progress.update(count: pulled, of: "record")
        default: break
        }
    }

    private static func policy(_ arguments: Arguments) throws(UsageError) -> ConflictPolicy {
        guard let name = arguments.text(policy) else { return .serverWins }
        guard let policy = ConflictPolicy(name), policy.innermost != .resolver else {
            throw UsageError("There is no policy '\(name.printable)'.")
        }
        return policy
    }

    /// Synchronises after each change, here or elsewhere, until the program is asked to end.
    private static func follow(
        _ service: CloudKitRecordService, _ engine: SyncEngine, _ console: Console,
        _ round: @escaping @Sendable () async throws -> Void
    ) async throws {
        let interruption = Interruption()
        try await engine.start()
        let following = Task {
            try await service.followChanges(
                sleep: { try await SystemClock().sleep(for: .milliseconds($0)) },
                { _ in
                    do {
                        try await round()
                    } catch {
                        console.complain("backstitch sync: \(error)")
                    }
                })
        }
        while !interruption.hasHappened, !console.output.isClosed {
            try? await SystemClock().sleep(for: .milliseconds(100))
        }
        following.cancel()
        _ = await following.result
    }

    /// Writes how many files were downloaded.
    private static func tell(
        files count: Int, _ store: Store, _ path: String, _ arguments: Arguments,
        _ console: Console
    ) throws {
        guard arguments.has(.json) else {
            return console.output.line("Downloaded: \(count.counted("file")).")
        }
        var document = Document(nil, try Left(store), path: path)
        document.files = count
        console.output.line(try JSON.line(document))
    }

    /// Writes what a round did.
    ///
    /// - Parameter retried: The parked records that it tried again; nil if it was not asked to.
    private static func tell(
        _ report: SyncReport, _ store: Store, _ path: String, _ arguments: Arguments,
        _ console: Console, retried: Int? = nil
    ) throws {
        let left = try Left(store)
        if arguments.has(.json) {
            var document = Document(report, left, path: path)
            document.retried = retried
            console.output.line(try JSON.line(document))
        } else {
            if let retried {
                console.output.line("Tried again: \(retried.counted("parked record")).")
            }
            let echoed = report.echoedRecords
            let echoes = echoed == 0 ? "" : " (\(echoed.grouped) of them known here)"
            console.output.line(
                "Pushed \(report.pushedRecords.counted("record")), pulled "
                    + "\(report.pulledRecords.grouped)\(echoes), settled "
                    + "\(report.conflicts.counted("conflict")); "
                    + "\(left.pending.grouped) left to push, "
                    + "\(left.parked.grouped) parked.")
            if left.undelivered > 0 {
                console.output.line(
                    "The service could not deliver \(left.undelivered.counted("record")), or not in "
                        + "a form that can be stored. A later round asks again.")
            }
            if report.rejectedRecords > 0 {
                console.output.line(
                    "\(report.rejectedRecords.counted("record")) can't be stored here.")
            }
            if report.hasMoreToPull {
                console.output.line(
                    "The service has more changes and does not give them. A later round asks again."
                )
            }
        }
        console.output.flush()
    }
}

extension SyncEngineEvent {
    /// The record that was not exchanged, and why.
    fileprivate var failure: (name: String, reason: String)? {
        switch self {
        case .rejected(let name, let reason): (name, "It can't be stored. \(reason)")
        case .undelivered(let name, let error): (name, "\(error)")
        default: nil
        }
    }
}
