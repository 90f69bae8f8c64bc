import CLMDB
import Glibc

/// A data file in which holes are made. Nobody writes to it meanwhile.
struct FileHoles {
    // linux/falloc.h and lseek(2); the Glibc module lacks them.
    /// Makes a hole and keeps the length of the file.
    static let mode: Int32 = 1 | 2
    private static let seekData: Int32 = 3

    let descriptor: Int32
    let path: String
    let pageBytes: Int

    /// Makes holes of runs of pages, from the last run on, if there are none yet.
    ///
    /// Of the free pages that LMDB has looked up it uses the lowest first, so that the highest are
    /// likely to stay unused for longest.
    func make(
        in runs: [Range<Int>], below: Int, _ budget: PageReleaseBudget
    ) throws(LMDBError) -> PageRelease {
        let before = try blocks()
        var release = PageRelease()
        var (runsLeft, pagesLeft) = (budget.runs, budget.pages)
        for run in runs.reversed() {
            var run = run.clamped(to: 0..<below)
            guard !run.isEmpty, try hasData(in: run) else { continue }
            guard runsLeft > 0, pagesLeft > 0 else {
                release.next = run.upperBound
                break
            }
            if run.count > pagesLeft {
                run = (run.upperBound - pagesLeft)..<run.upperBound
                release.next = run.lowerBound
            }
            guard try punch(run) else {
                release.isSupported = false
                release.next = nil
                break
            }
            runsLeft -= 1
            pagesLeft -= run.count
            if release.next != nil { break }
        }
        release.bytes = max(0, (before - (try blocks())) * 512)
        return release
    }

    /// Whether any page of a run takes up space.
    private func hasData(in run: Range<Int>) throws(LMDBError) -> Bool {
        // LMDB seeks before each write, so that moving the position does no harm.
        let found = lseek(descriptor, run.lowerBound * pageBytes, Self.seekData)
        if found >= 0 { return found < run.upperBound * pageBytes }
        if errno == ENXIO { return false }
        throw failed()
    }

    /// - Returns: Whether the file system can do that.
    private func punch(_ run: Range<Int>) throws(LMDBError) -> Bool {
        while fallocate(
            descriptor, Self.mode, run.lowerBound * pageBytes,
            run.count * pageBytes) != 0
        {
            switch errno {
            case EINTR: continue
            case EOPNOTSUPP, ENOSYS: return false
            default: throw failed()
            }
        }
        return true
    }

    private func blocks() throws(LMDBError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failed() }
        return Int(status.st_blocks)
    }

    private func failed() -> LMDBError {
        let reason = errno
        return LMDBError(
            reason == ENOSPC || reason == EDQUOT ? .diskFull : .other,
            """
            The free pages of '\(path)' could not be given back: \
            \(String(cString: strerror(reason))). No data is affected. Check the disk.
            """, underlying: reason)
    }
}
