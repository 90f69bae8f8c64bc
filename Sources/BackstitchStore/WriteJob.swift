import BackstitchCore
import LMDB
import Threading

/// One write that waits for its commit.
struct WriteJob: Sendable {
    let author: String?
    let context: String
    /// Whether what it saves stays on this device.
    var isLocalOnly = false
    /// Whether the configuration bounds its operations.
    var isBounded = true
    /// Runs the write; may be called more than once.
    let run: @Sendable (WriteContext) throws -> Void
    /// Tells the caller how it ended; called once, after the commit.
    let finish: @Sendable ((any Error)?) -> Void

    /// Refuses texts that are too long.
    static func check(_ author: String?, _ context: String) throws {
        func check(_ text: String, _ name: String, bytesMax: Int) throws {
            guard text.utf8.count > bytesMax else { return }
            throw StoreError(
                .invalidValue,
                "The \(name) of a write has \(bytesMax) bytes at most; this one has "
                    + "\(text.utf8.count). Shorten it.")
        }
        try check(author ?? "", "author", bytesMax: StoreConfiguration.authorBytesMax)
        try check(context, "context", bytesMax: StoreConfiguration.contextBytesMax)
    }
}

/// Writes in the order of their arrival.
struct WriteQueue: JobQueue {
    /// The most writes that share a commit.
    static let jobsMax = 256

    private var jobs: [WriteJob?] = []
    /// The jobs before this place were taken.
    private var first = 0

    mutating func add(_ job: WriteJob) { jobs.append(job) }

    mutating func next() -> WriteJob? {
        guard first < jobs.count else {
            jobs.removeAll(keepingCapacity: true)
            first = 0
            return nil
        }
        let job = jobs[first]
        jobs[first] = nil
        first += 1
        if first >= Self.jobsMax, first * 2 >= jobs.count {
            jobs.removeFirst(first)
            first = 0
        }
        return job
    }
}

/// A commit needs more space than there is, and took operations of other programs into views.
struct NoSpaceForViews: Error {}

extension Error {
    /// Whether a commit failed, or a write in it, because there is no space.
    var isAboutSpaceOfWrite: Bool {
        switch self {
        case let error as LMDBError: error.isAboutSpace
        case let failed as JobFailed: failed.error.isAboutSpaceOfWrite
        default: false
        }
    }
}
