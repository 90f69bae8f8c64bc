public import BackstitchCore
import BackstitchLog
public import BackstitchStore
import LMDB

extension Store {
    /// The contents of the store and its state of synchronisation.
    ///
    /// - Throws: `closed`, `io`; `damaged` if a row, an operation or a zone's state can't be read.
    /// - Complexity: O(*n*) in the entries of views. Records and what waits are counted by the commits;
    ///   if another version of the program wrote last, which does not count, all rows are read.
    public func info() throws -> StoreInfo {
        try StoreInfo(of: self)
    }

    /// The zones of the store: the own one first, then the others in the order in which they came.
    ///
    /// - Throws: `closed`, `io`; `damaged` if a zone's state can't be read.
    /// - Complexity: O(*n*) in the zones and entities, if the commits counted as for ``info()``.
    public func zones() throws -> [StoreInfo.Zone] { try read { try StoreZones($0.reader).all } }

    /// The zone of a name; nil if the store has none. Throws as ``zones()``.
    ///
    /// - Parameter owner: The record name of the user whose zone it is; nil for the store's own user.
    public func zone(named name: String, owner: String? = nil) throws -> RecordID.Zone? {
        try read { try StoreZones($0.reader).zone(named: name, owner: owner) }
    }
}

extension StoreInfo {
    fileprivate init(of store: Store) throws {
        let space = try StoreError.wrapping { try Space(store.environment) }
        self = try store.read {
            try StoreInfo($0.reader, space, durability: store.configuration.durability)
        }
    }

    fileprivate init(
        _ reader: TableReader, _ space: Space, durability: StoreConfiguration.Durability
    ) throws {
        let catalog = reader.catalog.catalog
        let scan = RecordScan(reader)
        self.init(
            storeID: catalog.storeID, formatVersion: catalog.formatVersion,
            entities: try reader.catalog.tables.map { table in
                let rows = try scan.count(table.number)
                return Entity(
                    name: table.name, isDeclared: table.isDeclared, records: rows.live,
                    tombstones: rows.deleted, unreadable: try scan.countUnreadable(table.number))
            },
            lastSequence: try reader.log.head,
            operations: try reader.access.count(of: reader.databases.log),
            compactedThrough: try LogHorizon(reader).compaction.through,
            outbox: try StoreInfo.Outbox(reader),
            parked: try ParkedRecord.all(reader, limit: StoreInfo.parkedMax),
            incompleteRecords: try IncompleteRecords.count(reader),
            undeliveredRecords: try UndeliveredRecords.count(reader),
            zones: try StoreZones(reader).all.filter { $0.name != nil },
            projections: try Projection.all(reader), space: space,
            durability: durability, syncs: try LogHorizon(reader).maySync)
    }
}

extension StoreInfo.Space {
    fileprivate init(_ environment: Environment) throws {
        let info = try environment.info
        self.init(
            fileBytes: try environment.fileBytes, allocatedBytes: try environment.allocatedBytes,
            journalBytes: try environment.journalBytes, mapBytes: info.mapBytes,
            pageBytes: info.pageBytes, usedPages: info.lastPage + 1 - info.freePages,
            freePages: info.freePages)
    }
}

extension StoreInfo.Projection {
    fileprivate static func all(_ reader: TableReader) throws -> [StoreInfo.Projection] {
        try StoredProjections(reader).states().map { name, state in
            StoreInfo.Projection(
                name: name, version: Int(state.version), checkpoint: state.checkpoint,
                isComplete: state.isComplete, entries: try reader.entries(of: state).count,
                failure: state.failure)
        }
    }
}
