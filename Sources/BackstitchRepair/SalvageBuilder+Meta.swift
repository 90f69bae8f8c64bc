import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchSync
import Foundation
import LMDB

extension SalvageBuilder {
    /// The values of the meta database that are intact.
    struct Meta {
        var values: [String: [UInt8]] = [:]
        /// The names of those that are not.
        var damaged: [String] = []

        init(_ source: Access, _ database: Database) throws {
            var all: [String: [UInt8]] = [:]
            try source.withCursor(in: database) { cursor in
                while try cursor.next() {
                    unsafe all[String(decoding: cursor.key, as: UTF8.self)] = unsafe Array(
                        cursor.value)
                }
            }
            for (name, value) in all where !name.hasPrefix(MetaChecksum.prefix) {
                // The checksum may have been on a damaged page, and marks of a full fetch have none.
                let checksum = all[MetaChecksum.name(of: name)]
                if checksum == nil || MetaChecksum.matches(value, named: name, checksum) {
                    values[name] = value
                } else {
                    damaged.append(name)
                }
            }
            damaged.sort()
        }

        /// The catalog, or one of those that lie about.
        ///
        /// - Throws: `damaged` if there is none.
        func catalog(or loose: [[UInt8]]) throws -> Catalog {
            let stored = [values[MetaName.catalog], values[MetaName.catalogCopy]]
            for bytes in stored.compactMap({ $0 }) + loose.reversed() {
                if let catalog = try? CatalogCoding.decode(bytes) { return catalog }
            }
            throw StoreError(
                .damaged,
                "The store's catalog is lost, without which nothing in it can be read. Restore the "
                    + "store from a backup.")
        }

        /// How far the log was compacted; nil if that can't be read.
        var bounds: CompactionBounds? {
            guard let bytes = values[MetaName.compaction] else {
                return damaged.contains(MetaName.compaction) ? nil : CompactionBounds()
            }
            return CompactionBounds(bytes)
        }
    }

    /// Writes what does not follow from the log.
    ///
    /// - Parameter end: Up to where operations may be missing; nil if nothing changes that.
    func putMeta(compactedThrough end: UInt64?) throws {
        report.metaDropped = meta.damaged
        try target.putCatalog(catalog.catalog, databases)
        var bounds = bounds
        if let end { bounds = CompactionBounds(through: end, firstKept: end > 0 ? 1 : 0) }
        if bounds.through > 0 {
            try target.putMeta(MetaName.compaction, bounds.bytes, databases)
        }
        let dropsZones = end != nil || meta.damaged.contains { $0.hasPrefix(MetaName.zonePrefix) }
        report.fetchesAll = dropsZones
        if dropsZones { try target.putMeta(MetaName.fetchAll, [], databases) }
        for (name, value) in meta.values {
            if name.hasPrefix(MetaName.zonePrefix) {
                try putZone(name, value, dropsZones: dropsZones)
            } else if end == nil, !dropsZones || !SyncNotes.isMark(name),
                !Self.madeAnew.contains(name)
            {
                try target.putMeta(name, value, databases)
            }
        }
    }

    /// Writes what waits to be pushed in the new tables.
    func putOutboxCounts() throws {
        var counting = OutboxCounting.begun(at: try reader.log.head)
        try OutboxCounter(reader).goOn(&counting, budget: .max)
        try target.putMeta(MetaName.outboxCounts, counting.bytes, databases)
    }

    /// What is written by itself, or counted again.
    private static let madeAnew = [
        MetaName.catalog, MetaName.catalogCopy, MetaName.compaction, MetaName.outboxCounts,
    ]

    /// Keeps whose records they are, and lets all be fetched again.
    private func putZone(_ name: String, _ value: [UInt8], dropsZones: Bool) throws {
        guard dropsZones else { return try target.putMeta(name, value, databases) }
        guard var state = try? JSONDecoder().decode(ZoneState.self, from: Data(value)) else {
            return
        }
        state.beginAnew()
        try target.putMeta(name, try state.sortedJSON(), databases)
    }
}
