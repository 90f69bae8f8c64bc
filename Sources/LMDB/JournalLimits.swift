import Glibc

/// How a journal is used. All processes that write to an environment need the same ``halfBytes``.
package struct JournalLimits: Sendable, Hashable {
    /// A commit with more bytes of changes goes into the data file.
    package var changeBytesMax = 1 << 20
    /// A commit with more changes goes into the data file.
    package var changesMax = 8_192
    /// So many small commits in a row go into the data file before the journal takes them.
    package var commitsBefore = 2
    /// So many records are applied together.
    package var recordsPerApplication = 512
    /// The records are applied early if they changed so many keys.
    package var entriesPerApplication = 8_192
    /// A commit waits for the records to be applied if more keys than these changed. Each may be on a
    /// page of its own, which LMDB holds in memory until it commits.
    package var entriesMax = 16_384
    /// The records are applied if there was no commit for so long, once or twice.
    package var idleMilliseconds = 500
    /// The bytes of one half of the file, a multiple of 4,096; at least ``halfBytesMin``.
    package var halfBytes = 4 << 20
    /// The bytes of each half that have blocks at first; they grow fourfold while records wait in both
    /// halves. A multiple of 4,096.
    package var firstBytes = 256 << 10
    /// The journal takes the first of many commits only with so many bytes free on the disk, because
    /// applying them needs space.
    package var freeBytesMin = 64 << 20
    /// Whether a thread of its own applies the records, or the writer thread between two commits.
    package var appliesInBackground = true

    /// The smallest half.
    package static let halfBytesMin = 96 << 10

    package init() {}

    /// Those of stores and hubs.
    ///
    /// In debug builds `BACKSTITCH_JOURNAL_RECORDS` of the process's environment makes the journal take
    /// every commit that fits, on however small a disk, and apply so many records together: for tests
    /// of stores and hubs, whose runs of commits are short.
    package static let standard: JournalLimits = {
        var limits = JournalLimits()
        #if DEBUG
            guard let text = getenv("BACKSTITCH_JOURNAL_RECORDS"),
                let records = Int(String(cString: text)), records > 0
            else { return limits }
            limits.recordsPerApplication = records
            limits.commitsBefore = 0
            limits.freeBytesMin = 0
        #endif
        return limits
    }()
}
