public import BackstitchCore
public import BackstitchStore
public import Foundation

/// The contents of a store and its state of synchronisation, at one moment.
public struct StoreInfo: Hashable, Sendable {
    /// An entity and the number of its records.
    public struct Entity: Hashable, Sendable {
        /// The entity's name.
        public let name: String
        /// Whether the schema that last opened the store declares it.
        public let isDeclared: Bool
        /// The number of records.
        public let records: Int
        /// The number of records that were deleted here and whose deletes were not pushed yet.
        public let tombstones: Int
        /// The number of records that no query gives, because their values don't fit the Swift type;
        /// see ``Store/unreadableRecords()``.
        public let unreadable: Int
    }

    /// A zone of the store and the state of its synchronisation, without tokens and the user of the store.
    public struct Zone: Hashable, Sendable {
        /// What ids and queries name the zone by.
        public let zone: RecordID.Zone
        /// The zone's name; nil for the own one of a store that was never synchronised.
        public let name: String?
        /// The record name of the user whose zone it is; nil for the user of the store.
        public let owner: String?
        /// Where the service keeps it.
        public let database: DatabaseScope
        /// Whether the zone and its subscription were made on the service.
        public let isSetUp: Bool
        /// Whether there is a token, so that the next pull gets only what changed since.
        public let hasToken: Bool
        /// Whether the service has changes that were not pulled yet.
        public let needsPull: Bool
        /// Whether everything is being fetched again.
        public let isFullFetch: Bool
        /// Why nothing is exchanged; nil if it is.
        public let suspension: String?
        /// Before when a failed round is not tried again by itself; nil if the last one ended well.
        public let retryDate: Date?
        /// The number of records.
        public let records: Int
        /// The number of records with edits that are to be pushed, or would if the store were synchronised.
        /// Those that the engine's selection holds back are among them.
        public let pendingRecords: Int
        /// The number of records whose edits are parked.
        public let parkedRecords: Int
    }

    /// The view of a projection.
    public struct Projection: Hashable, Sendable {
        /// The projection's name.
        public let name: String
        /// The version of the projection that made the view.
        public let version: Int
        /// The sequence of the last operation that the view has.
        public let checkpoint: UInt64
        /// Whether it had all operations once; otherwise it is being built.
        public let isComplete: Bool
        /// The number of entries.
        public let entries: Int
        /// Why the view has stopped; nil if it has not.
        public let failure: ProjectionFailure?
    }

    /// The disk space of the store.
    public struct Space: Hashable, Sendable {
        /// The length of the data file, in bytes; it never falls.
        public let fileBytes: Int
        /// The bytes that the data file takes up on the disk: less than its length if free pages
        /// went back to the file system.
        public let allocatedBytes: Int
        /// The bytes that the file `journal` beside it takes up on the disk; 0 if there is none. The files
        /// of records take up more, see `StoreAssets.usage()`.
        public let journalBytes: Int
        /// The address space that is set aside for it, in bytes.
        public let mapBytes: Int
        /// The size of a page, in bytes.
        public let pageBytes: Int
        /// The number of pages in use.
        public let usedPages: Int
        /// The number of pages inside the file that will be used again.
        public let freePages: Int
    }

    /// The most parked records that ``parked`` lists.
    public static let parkedMax = 1_000

    /// The identity of the store.
    public let storeID: UUID
    /// The version of the format that wrote it.
    public let formatVersion: Int
    /// The entities in the order in which the store came to know them.
    public let entities: [Entity]
    /// The sequence of the last operation; 0 in an empty store.
    public let lastSequence: UInt64
    /// The number of operations in the log.
    public let operations: Int
    /// Operations up to this sequence may be missing, because they were compacted; 0 if none are.
    public let compactedThrough: UInt64
    /// How much waits to be pushed, is parked, or is in the conflict journal.
    public let outbox: StoreInfo.Outbox
    /// Parked records in the order of their keys, ``parkedMax`` at most.
    public let parked: [ParkedRecord]
    /// How many records of the service could not be stored whole, because there are no numbers left for
    /// the names of their types or fields. They are fetched again once a schema declares these.
    public let incompleteRecords: Int
    /// How many records of the service it could not deliver so far, or not in a form that can be stored, or
    /// gave contradicting answers about. They are looked up again, after waits of up to five minutes.
    public let undeliveredRecords: Int
    /// The zones that the store was synced with, the own one first.
    public let zones: [Zone]
    /// The views of projections in the order of their names.
    public let projections: [Projection]
    /// The disk space of the store.
    public let space: Space
    /// When this process's commits are on disk.
    public let durability: StoreConfiguration.Durability
    /// Whether the store may be synchronised: the ``StoreConfiguration/syncs`` with which it was last
    /// opened. If not, ``outbox`` counts the records that would be pushed.
    public let syncs: Bool
}
