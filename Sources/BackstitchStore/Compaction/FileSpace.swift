import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// What giving free space back to the file system did.
package struct SpaceRelease: Sendable {
    package var bytes = 0
    /// The free pages that the next commit may use.
    package var reusablePages = 0
    package var isSupported = true
    /// Whether it went on to the end; otherwise its task was cancelled.
    package var isComplete = true

    /// Adds a release that came after this one.
    fileprivate mutating func add(_ more: SpaceRelease) {
        bytes += more.bytes
        isComplete = more.isComplete
        reusablePages = more.reusablePages
    }
}

/// Packs the pages of a store's file, moves them, and gives free ones back to the file system, step by
/// step, each step a commit on the writer thread.
package struct FileSpace: Sendable {
    private let environment: Environment
    private let databases: Databases

    package init(_ store: Store) { (environment, databases) = (store.environment, store.databases) }

    private func allDatabases() throws -> [Database] {
        try StoreError.wrapping { try environment.read { $0.access.all(of: databases) } }
    }

    /// Rewrites the pages of the databases that are far from full, step by step.
    ///
    /// - Returns: Whether it went on to the end; otherwise its task was cancelled.
    package func packPages() async throws -> Bool {
        for database in try allDatabases() {
            var next: [UInt8]?
            repeat {
                if Task.isCancelled { return false }
                let from = next
                next = try await onWriter { try $0.packPages(of: database, from: from).next }
            } while next != nil
        }
        return true
    }

    /// Moves pages from the end of the file to free ones before it, so that what is free lies
    /// together.
    ///
    /// LMDB looks free pages up in the order in which they became free, so that some pages move to the
    /// end again, and the next pass moves those.
    package func movePages() async throws {
        let info = try await onWriter { try $0.info }
        let pagesInUse = info.usedBytes / info.pageBytes
        let target = pagesInUse + pagesInUse / 32 + 64
        for _ in 0..<Self.movingPassesMax {
            var moved = 0
            for database in try allDatabases() {
                var next: [UInt8]?
                repeat {
                    if Task.isCancelled { return }
                    let from = next
                    let step = try await onWriter {
                        try $0.movePages(of: database, from: from, behind: target)
                    }
                    moved += step.pages
                    next = step.next
                } while next != nil
            }
            // Few that are left are not worth another pass. If a reader began meanwhile, free
            // pages can't be used, and the file grows.
            let lastPage = try await onWriter { try $0.info.lastPage }
            if moved <= pagesInUse / 64 || lastPage > info.lastPage + 64 { return }
        }
    }

    /// Whether much of the file's blocks is still free, in pieces too short to be given back, and may
    /// be used. What readers still need can't, and moving would only make the file grow.
    private func isScattered(_ release: SpaceRelease) async throws -> Bool {
        try await onWriter {
            let info = try $0.info
            let worthMoving = info.usedBytes / 8 + Self.scatteredBytesMin
            let free = try $0.allocatedBytes - info.usedBytes
            return min(free, release.reusablePages * info.pageBytes) > worthMoving
        }
    }

    /// The free bytes that are worth moving others for.
    private static let scatteredBytesMin = 1 << 20
    /// The most passes over a file that move pages.
    private static let movingPassesMax = 10

    /// The shortest run of pages that is given back once others were moved.
    private static let pagesPerLastRunMin = 4

    /// Packs half-empty pages, gives free ones back, and moves others so that more can be given back.
    func shrink() async throws -> SpaceRelease {
        var isPacked = try await unlessFull { try await packPages() } ?? false
        var release = try await releaseSpace()
        if !isPacked, release.bytes > 0, !Task.isCancelled {
            // There is space now.
            isPacked = try await unlessFull { try await packPages() } ?? false
            try await release.add(releaseSpace())
        }
        if isPacked, release.isSupported, release.isComplete, try await isScattered(release) {
            isPacked = try await unlessFull { try await movePages() } != nil
            try await release.add(releaseSpace(pagesPerRunMin: Self.pagesPerLastRunMin))
        }
        release.isComplete = release.isComplete && isPacked
        return release
    }

    /// Does what a compaction can do without; nil if the disk is too full for it.
    private func unlessFull<Result>(
        _ body: () async throws -> Result
    ) async throws -> Result? {
        do {
            return try await body()
        } catch let error as StoreError where error.code == .full {
            return nil
        }
    }

    /// Gives the free pages of the file back to the file system, step by step. Pages that readers, or
    /// the last commit and the one before, still need stay.
    ///
    /// - Parameters:
    ///   - pagesPerRunMin: Shorter runs stay; nil for as many as usual.
    ///   - reserve: So many free pages stay; nil for as many as usual.
    package func releaseSpace(
        pagesPerRunMin: Int? = nil, reserve: Int? = nil
    ) async throws -> SpaceRelease {
        let meta = databases.meta
        var wanted = PageReleaseBudget()
        wanted.pagesPerRunMin = pagesPerRunMin ?? wanted.pagesPerRunMin
        wanted.reserve = reserve ?? wanted.reserve
        let budget = wanted
        var release = SpaceRelease()
        // What the last commit freed may be used after one more.
        _ = try await unlessFull { try await onWriter { try $0.commitNothing(in: meta) } }
        var next: Int?
        repeat {
            if Task.isCancelled {
                release.isComplete = false
                return release
            }
            let below = next
            let step = try await onWriter { try $0.releaseFreePages(below: below, budget: budget) }
            release.bytes += step.bytes
            release.isSupported = step.isSupported
            release.reusablePages = step.reusablePages
            next = step.next
        } while next != nil
        return release
    }

    private func onWriter<Result: Sendable>(
        _ body: @escaping @Sendable (Environment) throws -> Result
    ) async throws -> Result {
        let environment = environment
        do {
            return try await environment.perform { try body(environment) }
        } catch {
            throw StoreError.wrap(error)
        }
    }
}
