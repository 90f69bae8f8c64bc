import Glibc

/// How a journal is used. All processes that write to an environment need the same ``halfBytes``.
package struct JournalLimits: Sendable, Hashable {
    /// A commit with more bytes of changes goes into the data file.
    package var changeBytesMax = 64 << 10
    /// So many small commits in a row go into the data file before the journal takes them.
    package var commitsBefore = 2
    /// So many records are applied together.
    package var recordsPerApplication = 512
    /// The records are applied early if they changed so many keys.
    package var entriesPerApplication = 4_096
    /// The records are applied if there was no commit for so long, once or twice.
    package var idleMilliseconds = 500
    /// The bytes of one half of the file, a multiple of 4,096; at least ``halfBytesMin``.
    package var halfBytes = 2 << 20
    /// The journal takes the first of many commits only with so many bytes free on the disk, because
    /// applying them needs space.
    package var freeBytesMin = 64 << 20
    /// Whether a thread of its own applies the records, or the writer thread between two commits.
    package var appliesInBackground = true

    /// The smallest half: it holds the largest record.
    package static let halfBytesMin = 96 << 10

    package init() {}

    /// What the variable `BACKSTITCH_JOURNAL` of the process's environment asks for; nil if it is
    /// not set. It is there to try the journal out, in debug builds and in those with
    /// `-DBACKSTITCH_JOURNAL`: no user's program begins a journal by accident.
    ///
    /// Its value is the number of records that are applied together. If that is less than 100, the
    /// journal also takes every commit that fits, on however small a disk.
    package static let requested: JournalLimits? = {
        #if DEBUG || BACKSTITCH_JOURNAL
            guard let text = getenv("BACKSTITCH_JOURNAL"), let records = Int(String(cString: text)),
                records > 0
            else { return nil }
            var limits = JournalLimits()
            limits.recordsPerApplication = records
            if records < 100 {
                limits.commitsBefore = 0
                limits.freeBytesMin = 0
            }
            return limits
        #else
            return nil
        #endif
    }()
}
