import BackstitchCore
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
        let space: StoreInfo.Space
        do {
            space = try self.space()
        } catch {
            throw StoreError.wrap(error)
        }
        return try read { transaction in
            let reader = transaction.reader
            let catalog = reader.catalog.catalog
            return StoreInfo(
                storeID: catalog.storeID, formatVersion: catalog.formatVersion,
                entities: try reader.catalog.tables.map { table in
                    let rows = try reader.countRows(of: table.number)
                    return StoreInfo.Entity(
                        name: table.name, isDeclared: table.isDeclared, records: rows.live,
                        tombstones: rows.deleted,
                        unreadable: try reader.countUnreadableRows(of: table.number))
                },
                lastSequence: try reader.head,
                operations: try reader.access.count(of: databases.log),
                compactedThrough: try reader.compaction.through,
                outbox: try OutboxCounts(reader),
                parked: try reader.parkedRecords(limit: StoreInfo.parkedMax),
                incompleteRecords: try IncompleteRecords.count(reader),
                zones: try reader.zones(), projections: try reader.projectionInfos(), space: space,
                durability: configuration.durability)
        }
    }

    private func space() throws -> StoreInfo.Space {
        let info = try environment.info
        return StoreInfo.Space(
            fileBytes: try environment.fileBytes, allocatedBytes: try environment.allocatedBytes,
            mapBytes: info.mapBytes,
            pageBytes: info.pageBytes, usedPages: info.lastPage + 1 - info.freePages,
            freePages: info.freePages)
    }
}

extension TableReader {
    fileprivate func projectionInfos() throws -> [StoreInfo.Projection] {
        try projectionStates().map { name, state in
            StoreInfo.Projection(
                name: name, version: Int(state.version), checkpoint: state.checkpoint,
                isComplete: state.isComplete, entries: try entries(of: state).count,
                failure: state.failure)
        }
    }

    fileprivate func zones() throws -> [StoreInfo.Zone] {
        var zones: [StoreInfo.Zone] = []
        try visitMeta(MetaName.zonePrefix) { name, _ in
            let state = try zoneState(name)
            zones.append(
                StoreInfo.Zone(
                    name: name, isSetUp: state.isSetUp, hasToken: state.zoneToken != nil,
                    needsPull: state.needsPull, isFullFetch: state.isFullFetch,
                    suspension: state.suspension?.rawValue))
            return true
        }
        return zones
    }
}
