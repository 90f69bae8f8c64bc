import CloudKitWire
import Threading
import WireCrypto

/// Finds out whether a hub can write, by writing: a row and a file, which are removed again.
///
/// Many may ask at once: there is one probe at a time, and all wait for that one. One that was kept counts
/// for ``keptMilliseconds``, so that whoever asks often costs the disk little.
final class Readiness: Sendable {
    enum Answer: Hashable, Sendable {
        case ready
        case diskFull
        case writerBlocked
        case storageAway
    }

    /// How long a write may wait for its turn.
    static let patienceMilliseconds: Int64 = 2_000
    /// How long a probe counts that was kept.
    static let keptMilliseconds: Int64 = 1_000
    /// How long a write counts that found no space. A small one may find some where others don't, so that
    /// a probe alone does not tell.
    static let fullMilliseconds: Int64 = 30_000
    /// Where the row of the probe is. It belongs to no database, so that no device is notified of it.
    static let partition = Partition(number: UInt64(Int64.max))
    private static let key = HubKey(partition, .probe)
    /// What the row has: bytes that no storage makes shorter.
    private static let content: [UInt8] = (UInt8(0)..<32).flatMap { Digest.sha256([$0]) }

    private struct State {
        /// When the probe that is under way began, in milliseconds of the steady clock.
        var probeStart: Int64?
        var probe: Task<Void, Never>?
        var waiters: [CheckedContinuation<Answer, Never>] = []
        /// When the last probe began that was kept; nil if something failed since.
        var kept: Int64?
        /// When writes found no space for the first and for the last time, since one was kept.
        var full: (first: Int64, last: Int64)?

        mutating func noteFullDisk(_ now: Int64) {
            full = (first: full?.first ?? now, last: now)
            kept = nil
        }

        /// What is known without a probe.
        func known(_ now: Int64) -> Answer? {
            if let full, now < full.last + Readiness.fullMilliseconds { return .diskFull }
            if let kept, now < kept + Readiness.keptMilliseconds { return .ready }
            guard let probeStart, now >= probeStart + Readiness.patienceMilliseconds else {
                return nil
            }
            return .writerBlocked
        }
    }

    private let state = Locked(State())

    /// Whether a probe is under way.
    var isProbing: Bool { state.withLock { $0.probeStart != nil } }

    /// Notes that a write found no space.
    ///
    /// - Parameter now: In milliseconds of the steady clock.
    func noteFullDisk(now: Int64) { state.withLock { $0.noteFullDisk(now) } }

    /// Whether the hub can write, after ``patienceMilliseconds`` at the latest, as ``tick(now:)`` tells
    /// the time.
    func answer(of storage: any HubStorage, _ files: any HubFiles, now: Int64) async -> Answer {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Answer? in
                if let known = state.known(now) { return known }
                state.waiters.append(continuation)
                guard state.probeStart == nil else { return nil }
                state.probeStart = now
                // It ends with the write, which the storage ends at the latest when it closes.
                state.probe = Task { self.finish(await Self.probe(storage, files), since: now) }
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    private static func probe(_ storage: any HubStorage, _ files: any HubFiles) async -> Answer {
        // On a thread of its own, since the disk may hang.
        let space: FileSpace = await withCheckedContinuation { continuation in
            SystemThread.detach { continuation.resume(returning: files.tryWriting()) }
        }
        switch space {
        case .left: break
        case .full: return .diskFull
        case .away: return .storageAway
        }
        do {
            // As two commits: of one alone the storage would see nothing.
            try await storage.write(to: [partition]) { try $0.put(key, content) }
            try await storage.write(to: [partition]) { try $0.delete(key) }
            return .ready
        } catch let error as any StorageFailure where error.isAboutSpace {
            return .diskFull
        } catch {
            return .storageAway
        }
    }

    private func finish(_ answer: Answer, since start: Int64) {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            (state.probeStart, state.probe) = (nil, nil)
            switch answer {
            // A write that found no space while the probe ran says more than the probe, which is small.
            case .ready where state.full.map({ $0.last >= start }) == true: state.kept = nil
            case .ready: (state.kept, state.full) = (start, nil)
            case .diskFull: state.noteFullDisk(start)
            case .writerBlocked, .storageAway: state.kept = nil
            }
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

    /// For how long writes have found no space, in seconds.
    fileprivate func fullSeconds(_ now: Int64) -> Int64 {
        state.withLock { state in (now - (state.full?.first ?? now)) / 1_000 }
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
        case .diskFull:
            reason = "The disk is full. Writes found no space for \(fullSeconds(now)) seconds."
        case .writerBlocked: reason = "A write has waited for more than two seconds."
        case .storageAway: reason = "The storage can't be used."
        }
        throw WireError(.tryAgainLater, reason, retryAfter: 5)
    }
}
