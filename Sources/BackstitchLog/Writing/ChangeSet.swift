public import BackstitchCore

/// The changes of one commit, or of several if a reader could not keep up.
public struct ChangeSet: Hashable, Sendable {
    /// The keys of an entity's records that changed.
    package struct Records: Hashable, Sendable {
        /// Records that are new.
        package internal(set) var inserted: Set<RecordKey> = []
        /// Records with other values than before.
        package internal(set) var updated: Set<RecordKey> = []
        /// Records that are gone.
        package internal(set) var deleted: Set<RecordKey> = []
        /// Those of the inserted and updated records whose values don't fit the Swift type, so that
        /// no query gives them. After the schema changed, records that ceased to fit are among the
        /// updated ones and here; those that fit again are among the updated ones only.
        package internal(set) var unreadable: Set<RecordKey> = []

        /// The number of records that changed.
        package var count: Int { inserted.count + updated.count + deleted.count }
    }

    /// The most records that a change set names; after that ``isComplete`` is false.
    public static let recordsMax = 100_000

    /// The sequences of the operations; empty if nothing was appended.
    public internal(set) var sequences: Range<UInt64> = 0..<0
    /// The author of the writes; of the last one if several were joined.
    public internal(set) var author: String
    /// The context of the write, or of the last one if several were joined; empty if it gave none.
    public internal(set) var context: String
    /// Where the changes come from.
    public internal(set) var origins: Set<OperationOrigin> = []
    /// The changed records by the names of their entities.
    package internal(set) var records: [String: Records] = [:]
    /// Whether the set names every changed record. It does unless a reader fell far behind, or
    /// another process compacted operations before this one had read them.
    public internal(set) var isComplete = true

    /// Whether operations tell how far records are synchronised, and change nothing else.
    package private(set) var changesSyncState = false
    /// The changed records by number, until the names are filled in.
    package var numbered: [EntityNumber: Records] = [:]
    private var recordCount = 0

    /// A change set that names nothing.
    package init(author: String = "", context: String = "") {
        self.author = author
        self.context = context
    }

    /// A change set for operations that are not there any more.
    package init(lost sequences: Range<UInt64>) {
        author = ""
        context = ""
        self.sequences = sequences
        isComplete = false
    }

    /// Stands for a commit without operations, behind those of the log so far.
    package init(commitBefore sequence: UInt64) {
        author = ""
        context = ""
        sequences = sequence..<sequence
    }

    /// Whether records were deleted, and none is new.
    package var onlyDeletes: Bool {
        numbered.values.allSatisfy(\.inserted.isEmpty)
            && numbered.values.contains { !$0.deleted.isEmpty }
    }

    /// Whether any record changed.
    public var isEmpty: Bool { records.isEmpty && isComplete }

    /// The names of the entities of which records changed.
    public var entities: Set<String> { Set(records.keys) }

    /// An entity's new records.
    public func inserted(of entity: String) -> Set<RecordID> {
        ids(records[entity]?.inserted, of: entity)
    }

    /// An entity's records with other values than before.
    public func updated(of entity: String) -> Set<RecordID> {
        ids(records[entity]?.updated, of: entity)
    }

    /// An entity's records that are gone.
    public func deleted(of entity: String) -> Set<RecordID> {
        ids(records[entity]?.deleted, of: entity)
    }

    /// An entity's changed records that no query gives, because their values don't fit the type.
    public func unreadable(of entity: String) -> Set<RecordID> {
        ids(records[entity]?.unreadable, of: entity)
    }

    /// The ids of an entity's new records.
    public func inserted<Model: Entity>(_ type: Model.Type) -> Set<EntityID<Model>> {
        ids(records[Model.entityName]?.inserted)
    }

    /// The ids of an entity's records with other values than before.
    public func updated<Model: Entity>(_ type: Model.Type) -> Set<EntityID<Model>> {
        ids(records[Model.entityName]?.updated)
    }

    /// The ids of an entity's records that are gone.
    public func deleted<Model: Entity>(_ type: Model.Type) -> Set<EntityID<Model>> {
        ids(records[Model.entityName]?.deleted)
    }

    /// The ids of an entity's changed records that no query gives, because their values don't fit
    /// the type.
    public func unreadable<Model: Entity>(_ type: Model.Type) -> Set<EntityID<Model>> {
        ids(records[Model.entityName]?.unreadable)
    }

    private func ids<Model: Entity>(_ keys: Set<RecordKey>?) -> Set<EntityID<Model>> {
        Set((keys ?? []).map { EntityID(key: $0) })
    }

    private func ids(_ keys: Set<RecordKey>?, of entity: String) -> Set<RecordID> {
        Set((keys ?? []).map { RecordID(entity: entity, key: $0) })
    }

    // MARK: Building

    package mutating func note(
        _ kind: OperationKind, origin: OperationOrigin, entity: EntityNumber, key: RecordKey,
        sequence: UInt64, isUnreadable: Bool = false
    ) {
        if sequences.isEmpty {
            sequences = sequence..<(sequence + 1)
        } else {
            sequences = sequences.lowerBound..<(sequence + 1)
        }
        origins.insert(origin)
        guard kind.changesContent else {
            changesSyncState = true
            return
        }
        guard recordCount < Self.recordsMax else {
            isComplete = false
            return
        }
        recordCount += 1
        numbered[entity, default: Records()].note(kind, key, isUnreadable: isUnreadable)
    }

    /// Fills in the names of the entities.
    package mutating func name(by catalog: CatalogSnapshot) {
        for (number, changed) in numbered where changed.count > 0 {
            if let table = catalog.table(number) { records[table.name] = changed }
        }
        numbered = [:]
    }

    /// Adds the changes of a part of the same write, before the entities are named.
    package mutating func append(_ part: ChangeSet) {
        guard !part.sequences.isEmpty else { return }
        sequences =
            sequences.isEmpty
            ? part.sequences : sequences.lowerBound..<part.sequences.upperBound
        origins.formUnion(part.origins)
        isComplete = isComplete && part.isComplete
        changesSyncState = changesSyncState || part.changesSyncState
        guard recordCount + part.recordCount <= Self.recordsMax else {
            isComplete = false
            return
        }
        recordCount += part.recordCount
        for (entity, changed) in part.numbered {
            numbered[entity, default: Records()].join(changed)
        }
    }

    /// Adds the changes of a later commit, if it changed any record.
    package mutating func add(_ later: ChangeSet) {
        if !later.isEmpty { join(later) }
    }

    /// Adds the changes of a later commit.
    package mutating func join(_ later: ChangeSet) {
        guard !later.sequences.isEmpty else { return }
        sequences =
            sequences.isEmpty
            ? later.sequences : sequences.lowerBound..<later.sequences.upperBound
        author = later.author
        context = later.context
        origins.formUnion(later.origins)
        isComplete = isComplete && later.isComplete
        changesSyncState = changesSyncState || later.changesSyncState
        for (name, changed) in later.records {
            guard recordCount + changed.count <= Self.recordsMax else {
                isComplete = false
                return
            }
            recordCount += changed.count
            records[name, default: Records()].join(changed)
            if records[name]?.count == 0 { records[name] = nil }
        }
    }
}

extension ChangeSet.Records {
    package mutating func note(_ kind: OperationKind, _ key: RecordKey, isUnreadable: Bool) {
        if isUnreadable, kind != .delete {
            unreadable.insert(key)
        } else if !unreadable.isEmpty {
            unreadable.remove(key)
        }
        switch kind {
        // A long name is costly to hash, so that empty sets are not asked.
        case .insert:
            if !deleted.isEmpty, deleted.remove(key) != nil {
                updated.insert(key)
            } else {
                inserted.insert(key)
            }
        case .update:
            if inserted.isEmpty || !inserted.contains(key) { updated.insert(key) }
        case .delete:
            if inserted.isEmpty || inserted.remove(key) == nil {
                updated.remove(key)
                deleted.insert(key)
            }
        case .acknowledge, .park, .release, .forget, .baseline, .journal:
            break
        }
    }

    package mutating func join(_ later: ChangeSet.Records) {
        if count == 0 {
            self = later
            return
        }
        func isUnreadable(_ key: RecordKey) -> Bool { later.unreadable.contains(key) }
        for key in later.deleted { note(.delete, key, isUnreadable: false) }
        for key in later.inserted { note(.insert, key, isUnreadable: isUnreadable(key)) }
        for key in later.updated { note(.update, key, isUnreadable: isUnreadable(key)) }
    }
}
