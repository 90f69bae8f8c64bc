import CloudKitWire
import Threading

/// Finds out whether a hub can write.
///
/// Many may ask at once: there is one probe of the writer at a time, and all wait for that one.
final class Readiness: Sendable {
    enum Answer: Hashable, Sendable {
        case ready
        case diskFull
        case writerBlocked
        case storageAway
    }

    /// How long a write may wait for its turn.
    static let patienceMilliseconds: Int64 = 2_000

    private struct State {
        /// When the probe that is under way began, in milliseconds of the steady clock.
        var probeStart: Int64?
        var probe: Task<Void, Never>?
        var waiters: [CheckedContinuation<Answer, Never>] = []
        /// Whether the last write that had to be kept found no space.
        var isDiskFull = false
    }

    private let state = Locked(State())

    /// Whether a probe of the writer is under way.
    var isProbing: Bool { state.withLock { $0.probeStart != nil } }

    /// Notes that a write found no space.
    func noteFullDisk() { state.withLock { $0.isDiskFull = true } }

    /// Whether the hub can write, after ``patienceMilliseconds`` at the latest, as ``tick(now:)`` tells
    /// the time.
    func answer(of storage: any HubStorage, _ files: any HubFiles, now: Int64) async -> Answer {
        switch files.space {
        case .left: break
        case .full: return .diskFull
        case .away: return .storageAway
        }
        return await withCheckedContinuation { continuation in
            ask(storage, now, continuation)
        }
    }

    private func ask(
        _ storage: any HubStorage, _ now: Int64, _ continuation: CheckedContinuation<Answer, Never>
    ) {
        let isBlocked = state.withLock { state in
            guard let start = state.probeStart else {
                state.probeStart = now
                state.waiters.append(continuation)
                // It ends with the write, which the storage ends at the latest when it closes.
                state.probe = Task { [isFull = state.isDiskFull] in
                    await self.probe(storage, isFull: isFull)
                }
                return false
            }
            guard now < start + Self.patienceMilliseconds else { return true }
            state.waiters.append(continuation)
            return false
        }
        if isBlocked { continuation.resume(returning: .writerBlocked) }
    }

    private func probe(_ storage: any HubStorage, isFull: Bool) async {
        var answer = Answer.ready
        do {
            try await storage.write(to: [.global]) { transaction in
                // A transaction without changes needs no space. After a failure for want of it, only
                // one that has some shows that there is space again.
                if isFull { try transaction.put(StateRow.key, transaction.state()) }
            }
        } catch let error as any StorageFailure where error.isAboutSpace {
            answer = .diskFull
        } catch {
            answer = .storageAway
        }
        finish(answer)
    }

    private func finish(_ answer: Answer) {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            (state.probeStart, state.probe) = (nil, nil)
            if answer == .ready { state.isDiskFull = false }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    /// Answers those who waited long enough.
    func tick(now: Int64) {
        let waiters = state.withLock { state -> [CheckedContinuation<Answer, Never>] in
            guard let start = state.probeStart, now >= start + Self.patienceMilliseconds else {
                return []
            }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: .writerBlocked) }
    }
}

extension Readiness {
    /// Whether the hub can write, as `/ready` tells it.
    func response(
        of storage: any HubStorage, _ files: any HubFiles, now: Int64
    ) async throws(WireError) -> HubResponse {
        let answer = await answer(of: storage, files, now: now)
        let reason: String
        switch answer {
        case .ready: return .object { $0.member("status", "ready") }
        case .diskFull: reason = "The disk is full."
        case .writerBlocked: reason = "A write has waited for more than two seconds."
        case .storageAway: reason = "The storage can't be used."
        }
        throw WireError(.tryAgainLater, reason, retryAfter: 5)
    }
}
