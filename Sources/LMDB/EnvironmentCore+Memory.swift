import CLMDB
import Glibc

extension EnvironmentCore {
    /// After so many bytes of new pages, the process lets go of what it has of the file.
    private static let growthBytes = 64 << 20

    /// Lets go of the file's pages after the file grew by much, so that a long import takes no more
    /// memory than its transactions do.
    ///
    /// They stay in the system's cache as long as there is room. On the writer's thread, after a commit.
    func releaseMemoryAfterGrowth() {
        var info = MDB_envinfo()
        mdb_env_info(pointer, &info)
        guard let pagesAtRelease else {
            pagesAtRelease = info.me_last_pgno
            return
        }
        let pages = info.me_last_pgno - min(pagesAtRelease, info.me_last_pgno)
        guard pages >= Self.growthBytes / Int(getpagesize()) else { return }
        self.pagesAtRelease = info.me_last_pgno
        releaseMemory()
        try? mapLock.inside { () throws(LMDBError) in map.adviseReading() }
    }

    /// Lets go of all of the file's pages that this process has in memory. Reads go on, and get them back
    /// from the system's cache.
    func releaseMemory() {
        try? mapLock.inside { () throws(LMDBError) in
            guard let range = map.range() else { return }
            // The map is only read and shared with the file: nothing in it is this process's own.
            madvise(range.baseAddress, range.count, MADV_DONTNEED)
        }
    }
}

/// What the process has mapped where.
enum MemoryMap {
    /// The mapping that an address is in, as `/proc/self/maps` lists it; nil if that can't be read.
    static func range(around address: UInt) -> UnsafeMutableRawBufferPointer? {
        guard let file = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0 {
            guard let text = line, let bounds = bounds(String(cString: text)) else { continue }
            guard bounds.contains(address) else { continue }
            return UnsafeMutableRawBufferPointer(
                start: UnsafeMutableRawPointer(bitPattern: bounds.lowerBound),
                count: Int(bounds.count))
        }
        return nil
    }

    /// The two numbers that a line starts with: `from-to`, hexadecimal, without the second.
    static func bounds(_ line: String) -> Range<UInt>? {
        let words = line.prefix { $0 != " " }.split(separator: "-")
        guard words.count == 2, let from = UInt(words[0], radix: 16),
            let to = UInt(words[1], radix: 16), from < to
        else { return nil }
        return from..<to
    }
}
