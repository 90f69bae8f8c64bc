import BackstitchCore
import LMDB

/// One write that waits for its commit.
struct WriteJob: Sendable {
    let author: String?
    let context: String
    /// Whether what it saves stays on this device.
    var isLocalOnly = false
    /// Runs the write; may be called more than once.
    let run: @Sendable (WriteContext) throws -> Void
    /// Tells the caller how it ended; called once, after the commit.
    let finish: @Sendable ((any Error)?) -> Void
}

/// Runs writes on the store's writer thread; those that arrive while a commit is under way share the
/// next one.
///
/// Each write gets its own result. One that throws leaves no trace: if it had written anything, the
/// LMDB transaction is aborted and the others run again. That costs nothing while writes succeed,
/// where a child transaction each would cost an allocation of two megabytes.
struct CommitQueue: Sendable {
    /// The most writes that share a commit.
    static let jobsMax = 256

    private struct State {
        var waiting: [WriteJob] = []
        var isScheduled = false
    }

    private let state = Locked(State())

    /// Adds a write; `commit` runs on the writer thread with the writes that share a commit.
    func submit(
        _ job: WriteJob, to writer: WriterThread, commit: @escaping @Sendable ([WriteJob]) -> Void
    ) {
        let mustSchedule = state.withLock { state in
            state.waiting.append(job)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard mustSchedule else { return }
        let state = state
        writer.submit {
            while true {
                let jobs = state.withLock { state -> [WriteJob] in
                    let jobs = Array(state.waiting.prefix(Self.jobsMax))
                    state.waiting.removeFirst(jobs.count)
                    if jobs.isEmpty { state.isScheduled = false }
                    return jobs
                }
                if jobs.isEmpty { return }
                commit(jobs)
            }
        }
    }
}

/// Says that a write which had changed something failed, so that the others must run again.
struct WriteFailed: Error {
    let index: Int
    let error: any Error
}
