public import BackstitchCore
public import BackstitchLog
import LMDB

extension StoreConfiguration {
    /// When a commit is on disk.
    public enum Durability: String, Hashable, Sendable, CaseIterable {
        /// Before `write` returns; a power cut loses nothing that was acknowledged.
        case full
        /// Soon after; a power cut may lose the last commits, but never damages the store. Each commit goes
        /// to the data file, and none through the journal.
        case relaxed
    }
}

/// How a store is opened.
public struct StoreConfiguration: Sendable {
    /// When a commit is on disk.
    public var durability: StoreConfiguration.Durability
    /// The author that operations carry, up to 255 bytes; each write can name another.
    public var author: String
    /// The most bytes of an author's name.
    public static let authorBytesMax = 255
    /// The most bytes of the context that a write can name: 4 KiB.
    public static let contextBytesMax = OperationEncoder.contextByteCountMax
    /// The most bytes that the store may grow to; its file grows only as needed.
    public var bytesMax: Int
    /// The most operations of one write: 100,000. All other writes wait for the end of one, which
    /// may take seconds with so many. A write with more throws `tooLarge` and leaves nothing.
    /// Sync's own writes are not bounded by it.
    public var operationsPerWriteMax: Int
    /// The most bytes of the operations of one write, with the values before and after: 256 MiB. A
    /// write with more throws `tooLarge` and leaves nothing.
    public var bytesPerWriteMax: Int
    /// The most bytes of a record that the service takes, without the contents of its files: 1,000,000, as
    /// CloudKit. A push of a larger record is refused, and the record is parked. A write that makes one is
    /// told to ``monitor`` as `store.largeRecords`, with the number of records by entity.
    public var recordBytesMax: Int
    /// Whether such a write throws `tooLarge` instead and leaves nothing. Writes that stay on this device are
    /// not looked at.
    public var refusesLargeRecords: Bool
    /// The most threads that one read takes, its own included, where it looks at thousands of records; nil for
    /// as many as there are processors. All reads of a process share one helper for each further processor;
    /// those that find none free, or only a later state of the store, take one thread. Answers are the same.
    public var readThreadsMax: Int?
    /// Whether a store on a network file system is opened, whose locks may not work.
    public var allowsNetworkFileSystem: Bool
    /// Which operations the log keeps. Commits compact the rest in passing; see
    /// ``Store/compact(_:progress:)``.
    public var retention: RetentionPolicy
    /// Whether a service may ever get the store's records. With false, ``retention`` and
    /// ``Store/compact(_:progress:)`` shorten the log as if all operations were synced, a deleted record
    /// leaves nothing, and engines refuse the store (`invalidConfiguration`).
    ///
    /// The store keeps the setting for tools, until it is opened with another one; all programs that open
    /// it should say the same. Opened with true again, it may be synchronised: all records that it has
    /// then are pushed. A store that was ever synchronised can't be opened with false (`invalidSchema`).
    public var syncs: Bool
    /// Views of your own that the store keeps up to date; see ``RecordProjection``.
    public var projections: [any RecordProjection]
    /// Changes of the records that the store gets once, in their order, when it is opened; see
    /// ``DataMigration``.
    public var dataMigrations: [DataMigration]
    /// The time for the clocks of operations; also that of a sync engine which is given no other.
    public var clock: any StoreClock
    /// Gets what the store and its sync engines do, for logs and metrics; see ``MonitorEvent/Counters`` and
    /// `MonitorEvent.jsonLine`. It is called in order, often on the thread that writes, which waits for
    /// it: it should return soon, and must not use the store. Nil costs nothing.
    public var monitor: (@Sendable (MonitorEvent) -> Void)?
    var readThreads: Int { max(1, readThreadsMax ?? ParallelReads.processors) }
    /// Whether the store goes on in the background with what a changed schema and views need. Tests that
    /// look at the steps in between do them themselves.
    package var worksInBackground = true

    /// A configuration; the defaults suit a local disk.
    public init(
        durability: StoreConfiguration.Durability = .full, author: String = "",
        bytesMax: Int = 1 << 40,
        operationsPerWriteMax: Int = 100_000, bytesPerWriteMax: Int = 256 << 20,
        recordBytesMax: Int = 1_000_000, refusesLargeRecords: Bool = false,
        readThreadsMax: Int? = nil,
        allowsNetworkFileSystem: Bool = false, retention: RetentionPolicy = .keepAll,
        syncs: Bool = true,
        projections: [any RecordProjection] = [], dataMigrations: [DataMigration] = [],
        clock: any StoreClock = SystemClock(),
        monitor: (@Sendable (MonitorEvent) -> Void)? = nil
    ) {
        self.durability = durability
        self.author = author
        self.bytesMax = bytesMax
        self.operationsPerWriteMax = operationsPerWriteMax
        self.bytesPerWriteMax = bytesPerWriteMax
        self.recordBytesMax = recordBytesMax
        self.refusesLargeRecords = refusesLargeRecords
        self.readThreadsMax = readThreadsMax
        self.allowsNetworkFileSystem = allowsNetworkFileSystem
        self.retention = retention
        self.syncs = syncs
        self.projections = projections
        self.dataMigrations = dataMigrations
        self.clock = clock
        self.monitor = monitor
    }
}
