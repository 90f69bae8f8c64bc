import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Merges met conflicts that only the application can settle; nothing was written.
private struct Undecided: Error {
    let conflicts: [ConflictKey: ConflictQuestion]
}

/// Merges in one transaction, after the application has decided what the rules leave to it.
struct ResolvedMerge {
    private let exchange: ZoneExchange
    /// Whether the local version wins.
    private let prefersLocal: Bool

    init(_ exchange: ZoneExchange, prefersLocal: Bool) {
        self.exchange = exchange
        self.prefersLocal = prefersLocal
    }

    /// The most times that a transaction is tried again because records changed while the
    /// application decided about them.
    private static let askingRoundsMax = 4

    /// The most resolvers with a limit that run at a time.
    private static let resolversMax = 64
    /// Where they run: one that blocks its thread holds up no task that is to tell that its time is up.
    private static let resolvers = PoolExecutor(threadsMax: resolversMax)

    /// Merges in one transaction. If the application has to decide, it is asked in between.
    func run(
        _ body: @escaping @Sendable (RecordMerger, inout MergeResults) throws -> Void
    ) async throws -> MergeResults {
        var settings = ConflictSettings(
            prefersLocal ? ConflictRules(.clientWins) : exchange.configuration.conflictRules)
        for _ in 0..<Self.askingRoundsMax {
            do {
                return try await runOnce(settings, body)
            } catch let undecided as Undecided {
                let answers = try await answers(to: undecided.conflicts)
                // A resolver whose task was cancelled did not decide.
                try exchange.session.checkCalled()
                settings.answers.merge(answers) { $1 }
            }
        }
        settings.lastAnswer = .park(
            reason: "It changed whenever the resolver was asked about it. Retry it later.")
        return try await runOnce(settings, body)
    }

    private func runOnce(
        _ settings: ConflictSettings,
        _ body: @escaping @Sendable (RecordMerger, inout MergeResults) throws -> Void
    ) async throws -> MergeResults {
        let now = exchange.scope.clock.milliseconds
        return try await exchange.write { [prefersLocal, slot = exchange.slot] log in
            var results = MergeResults()
            let merger = RecordMerger(
                log, policy: settings, prefersLocal: prefersLocal, zone: slot)
            try body(merger, &results)
            guard results.undecided.isEmpty else { throw Undecided(conflicts: results.undecided) }
            try results.noteRejected(in: merger, now: now)
            results.changes = log.namedChanges
            return results
        }
    }

    // MARK: Asking

    private func answers(
        to questions: [ConflictKey: ConflictQuestion]
    ) async throws -> [ConflictKey: ConflictAnswer] {
        let configuration = exchange.configuration
        guard let resolver = configuration.conflictResolver else { return [:] }
        let catalog = try exchange.store.read { $0.reader.catalog }
        let (clock, limit) = (exchange.scope.clock, configuration.resolverMilliseconds)
        return await withTaskGroup { group in
            for (key, question) in questions {
                guard let table = catalog.table(key.entity) else { continue }
                group.addTask {
                    let conflict = RecordConflict(question, of: key.record, in: table)
                    let outcome = await Self.ask(resolver, conflict, clock, limit)
                    return (key, outcome.answer(table))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    /// Asks once, and no longer than the limit. What comes after that is not listened to.
    private static func ask(
        _ resolver: @escaping RecordConflict.Resolver, _ conflict: RecordConflict,
        _ clock: any StoreClock, _ limit: Int64?
    ) async -> RecordConflict.Resolution {
        func resolved() async -> RecordConflict.Resolution {
            do {
                return try await resolver(conflict)
            } catch {
                return .park(reason: "The resolver failed: \(type(of: error)).")
            }
        }
        guard let limit else { return await resolved() }
        return await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<RecordConflict.Resolution, Never>?>(
                continuation)
            @Sendable func end(_ resolution: RecordConflict.Resolution) {
                waiting.withLock { waiting in
                    let continuation = waiting
                    waiting = nil
                    return continuation
                }?.resume(returning: resolution)
            }
            let work = Task(executorPreference: resolvers) { end(await resolved()) }
            let timer = Task {
                // A clock that fails has nothing to tell; then there is no limit.
                guard (try? await clock.sleep(for: .milliseconds(limit))) != nil else { return }
                end(.park(reason: "The resolver did not answer within \(limit) ms."))
                work.cancel()
            }
            Task {
                await work.value
                timer.cancel()
            }
        }
    }
}

extension RecordConflict.Resolution {
    /// The answer by fields. Values that do not fit park the record, as a resolver's failure does.
    fileprivate func answer(_ table: EntityTable) -> ConflictAnswer {
        switch self {
        case .server: return .server
        case .client: return .client
        case .keepBoth: return .keepBoth
        case .park(let reason): return .park(reason: reason)
        case .fields(let values):
            var fields = Fields()
            for (name, value) in values {
                guard let attribute = table.declaredAttribute(named: name) else {
                    return .park(
                        reason: "The resolver gave a value for \(name), which is no attribute.")
                }
                if value == .null, attribute.isMandatory {
                    return .park(reason: "The resolver gave no value for \(name), which needs one.")
                }
                do {
                    fields[attribute.field] =
                        value == .null ? .null : try value.saved(as: attribute.schema?.type)
                } catch {
                    return .park(
                        reason: "The resolver's value for \(name) can't be stored: \(error.reason)."
                    )
                }
            }
            return .fields(fields)
        }
    }
}

extension EntityTable {
    fileprivate func declaredAttribute(named name: String) -> CatalogAttribute? {
        attributes.first { $0.isDeclared && $0.attributeName == name }
    }
}
