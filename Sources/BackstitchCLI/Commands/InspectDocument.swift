import Backstitch
import Foundation

/// The JSON of `inspect`. Its keys are documented in the help and never change their meaning.
struct InspectDocument: Encodable {
    struct Entity: Encodable {
        let name: String
        let declared: Bool
        let records: Int
        let tombstones: Int
        let unreadable: Int
    }

    struct Log: Encodable {
        let operations: Int
        let lastSequence: UInt64
        let compactedThrough: UInt64
    }

    struct Outbox: Encodable {
        let records: Int
        let operations: Int
    }

    struct Parked: Encodable {
        let entity: String
        let record: String
        let sequence: UInt64
        let reason: String
    }

    struct Zone: Encodable {
        let name: String
        let owner: String?
        let database: String
        let records: Int
        let pendingRecords: Int
        let parkedRecords: Int
        let setUp: Bool
        let hasToken: Bool
        let needsPull: Bool
        let fullFetch: Bool
        let suspension: String?
    }

    struct Projection: Encodable {
        let name: String
        let version: Int
        let checkpoint: UInt64
        let complete: Bool
        let entries: Int
        let failedAt: UInt64?
        let reason: String?

        init(_ projection: StoreInfo.Projection) {
            name = projection.name
            version = projection.version
            checkpoint = projection.checkpoint
            complete = projection.isComplete
            entries = projection.entries
            failedAt = projection.failure?.sequence
            reason = projection.failure?.reason
        }
    }

    struct Space: Encodable {
        let fileBytes: Int
        let allocatedBytes: Int
        let journalBytes: Int
        let contentBytes: Int64?
        let mapBytes: Int
        let pageBytes: Int
        let usedPages: Int
        let freePages: Int
    }

    let store: String
    let storeID: String
    let formatVersion: Int
    let entities: [Entity]
    let log: Log
    let outbox: Outbox
    let parked: [Parked]
    let parkedCount: Int
    let conflicts: Int
    let incompleteCount: Int
    let undeliveredCount: Int
    let zones: [Zone]
    let projections: [Projection]
    let space: Space
    let syncs: Bool
    let engine: EngineDocument?

    /// - Parameter contents: The files of records on this device; nil if they were not counted.
    init(
        _ info: StoreInfo, _ engine: EngineDocument?, contents: StoreAssets.Usage? = nil,
        path: String
    ) {
        self.engine = engine
        store = path
        storeID = info.storeID.uuidString
        formatVersion = info.formatVersion
        entities = info.entities.map {
            Entity(
                name: $0.name, declared: $0.isDeclared, records: $0.records,
                tombstones: $0.tombstones, unreadable: $0.unreadable)
        }
        log = Log(
            operations: info.operations, lastSequence: info.lastSequence,
            compactedThrough: info.compactedThrough)
        outbox = Outbox(
            records: info.outbox.pendingRecords, operations: info.outbox.pendingOperations)
        parked = info.parked.map {
            Parked(
                entity: $0.record.entity, record: $0.record.name, sequence: $0.sequence,
                reason: $0.reason)
        }
        parkedCount = info.outbox.parkedRecords
        conflicts = info.outbox.conflicts
        incompleteCount = info.incompleteRecords
        undeliveredCount = info.undeliveredRecords
        zones = info.zones.map {
            Zone(
                name: $0.name ?? "", owner: $0.owner, database: $0.database.rawValue,
                records: $0.records, pendingRecords: $0.pendingRecords,
                parkedRecords: $0.parkedRecords, setUp: $0.isSetUp, hasToken: $0.hasToken,
                needsPull: $0.needsPull,
                fullFetch: $0.isFullFetch, suspension: $0.suspension)
        }
        projections = info.projections.map { Projection($0) }
        space = Space(
            fileBytes: info.space.fileBytes, allocatedBytes: info.space.allocatedBytes,
            journalBytes: info.space.journalBytes, contentBytes: contents?.bytes,
            mapBytes: info.space.mapBytes,
            pageBytes: info.space.pageBytes, usedPages: info.space.usedPages,
            freePages: info.space.freePages)
        syncs = info.syncs
    }
}
