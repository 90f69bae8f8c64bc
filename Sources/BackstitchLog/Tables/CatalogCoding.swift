package import BackstitchCore
import Foundation
import LMDB

/// The names in the meta database.
package enum MetaName {
    package static let catalog = "catalog"
    /// The catalog once more, on other pages.
    package static let catalogCopy = "catalog.copy"
    /// The sequence before which every operation of the store's own zone is settled or parked: a hint where
    /// to look for unsynced operations.
    package static let outboxFloor = "outbox.floor"
    /// The floor of the zone with a slot.
    package static func outboxFloor(in slot: UInt8) -> String { outboxFloor + suffix(of: slot) }
    package static let outboxCounts = "outbox.counts"
    /// How far building indexes and examining records has come.
    package static let schemaWork = "schema.work"
    /// How far the log is compacted.
    package static let compaction = "log.compacted"
    /// The state of a zone's synchronisation.
    package static func zone(_ name: String) -> String { zonePrefix + name }
    /// Nothing, if a repair lost what it knew of zones: the first pull of each fetches all.
    package static let fetchAll = "repair.fetch"
    /// What the names of zones' states begin with.
    package static let zonePrefix = "sync."
    /// How many times an engine began to synchronise the store.
    package static let syncTurn = "exchange.turn"
    /// Nothing, if the store was last opened as one that never syncs.
    package static let neverSyncs = "exchange.never"
    /// What stands in a name behind its kind, if it is of another zone than the store's own.
    package static func suffix(of slot: UInt8) -> String {
        guard slot != 0 else { return "" }
        let digits = String(slot, radix: 16)
        return slot < 16 ? ":0" + digits : ":" + digits
    }
}

/// The stored form of the catalog: JSON, so that a damaged or newer one can still be looked at.
package enum CatalogCoding {
    /// What every version can read of a catalog.
    private struct Version: Decodable {
        /// A zone beside the store's own.
        struct Zone: Decodable {
            let number: Int
            let database: String

            /// Whether this version gives such zones.
            var isKnown: Bool {
                DatabaseScope(rawValue: database) != nil
                    && number <= Int(CatalogZone.numbers.upperBound)
            }
        }

        let formatVersion: Int
        let zones: [Zone]?
    }

    /// A catalog mostly changes in one entity, and stores of one schema have most entities alike.
    package static let entities = EncodedEntities()

    /// What a catalog says besides its entities.
    private struct Head: Encodable {
        let copiedFrom: UUID?
        let formatVersion: Int
        let schemaVersion: Int?
        let storeID: UUID
        let zones: [CatalogZone]
    }

    package static func encode(_ catalog: Catalog) throws -> [UInt8] {
        var bytes = Array("{\"entities\":[".utf8)
        for (index, entity) in catalog.entities.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += try entities.bytes(of: entity)
        }
        let head = Head(
            copiedFrom: catalog.copiedFrom, formatVersion: catalog.formatVersion,
            schemaVersion: catalog.schemaVersion, storeID: catalog.storeID,
            zones: catalog.zones)
        bytes += "],".utf8
        bytes += try head.sortedJSON().dropFirst()
        return bytes
    }

    package static func decode(_ bytes: [UInt8]) throws -> Catalog {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else {
            throw StoreError(
                .damaged, "The store's catalog can't be read. Restore the store from a backup.")
        }
        guard version.formatVersion <= Catalog.formatVersion else {
            throw StoreError(
                .newerFormat,
                "The store has format version \(version.formatVersion), and this program reads up "
                    + "to \(Catalog.formatVersion). Update the program. Without its update, export the "
                    + "store with the program that wrote it, and import that into a new one here.")
        }
        guard version.formatVersion == Catalog.formatVersion, let zones = version.zones else {
            throw StoreError(
                .damaged,
                "The store has a format that was never released, or its catalog is damaged. Export the "
                    + "store with the program that wrote it, and import that into a new one here; or "
                    + "restore it from a backup.")
        }
        guard zones.allSatisfy(\.isKnown) else {
            throw StoreError(
                .newerFormat,
                "The store has a zone of a kind that this program does not know. Update the program."
            )
        }
        guard let catalog = try? JSONDecoder().decode(Catalog.self, from: data),
            catalog.isWellFormed
        else {
            throw StoreError(
                .damaged, "The store's catalog can't be read. Restore the store from a backup.")
        }
        return catalog
    }
}

extension Encodable {
    /// The JSON of it, with keys in order.
    package func sortedJSON() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array(try encoder.encode(self))
    }
}
