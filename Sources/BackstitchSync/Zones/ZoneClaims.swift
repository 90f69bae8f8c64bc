package import BackstitchCore
package import BackstitchLog
import BackstitchStore
import LMDB

/// Which zones say that the records of a store are theirs.
///
/// A store has one zone of its own. Versions that did not bind a store let it have several.
package struct ZoneClaims: Equatable, Sendable {
    /// The zones that the store was set up with, in the order of their names.
    package var bound: [String]
    /// The zone that the store is being moved to.
    package var target: String?

    package init(bound: [String] = [], target: String? = nil) {
        self.bound = bound
        self.target = target
    }

    /// Why nothing may be exchanged with a zone, and what to do; nil if it may.
    package func refusal(of zone: String) -> String? {
        if let target {
            guard target != zone else { return nil }
            return "The store is being moved to the zone '\(target)', and the configuration says "
                + "'\(zone)'. Set zoneName to '\(target)' to let that go on, or \(Self.remedy) to "
                + "take the records elsewhere."
        }
        if bound.count > 1 {
            let names = bound.map { "'\($0)'" }.joined(separator: " and ")
            return "The store was synchronised with the zones \(names), and it is not known which "
                + "one its records belong to: \(Self.remedy) with the name of that zone."
        }
        guard let own = bound.first, own != zone else { return nil }
        return "The store is bound to the zone '\(own)', and the configuration says '\(zone)'. "
            + "Correct zoneName, or \(Self.remedy) to take the records to another zone."
    }

    private static let remedy = "call move(to:) (backstitch sync --move-to-zone)"
}

extension ZoneState {
    /// Whether the store was set up with the zone.
    var isBound: Bool { isSetUp || userName != nil || zoneToken != nil }
}

extension TableReader {
    /// The zones that the store belongs to, and the one that it is being moved to.
    package func zoneClaims() throws -> ZoneClaims {
        var claims = ZoneClaims()
        try visitMeta(MetaName.zonePrefix) { name, _ in
            let state = try zoneState(name)
            if state.movingUser != nil { claims.target = name }
            if state.isBound { claims.bound.append(name) }
            return true
        }
        return claims
    }

    /// The names of evicted records, which only the service has.
    package func evictedNames(limit: Int) throws -> [RecordName] {
        var names: [RecordName] = []
        for table in catalog.tables {
            try visitStoredRows(of: table.number) { bytes, row in
                guard names.count < limit else { return false }
                if row.flags.contains(.isEvicted), let key = RecordKey(reading: bytes) {
                    names.append(key.name)
                }
                return true
            }
        }
        return names
    }

    /// The number of rows, tombstones included.
    package var rowCount: Int {
        get throws {
            try catalog.tables.reduce(0) { count, table in
                let rows = try countRows(of: table.number)
                return count + rows.live + rows.deleted
            }
        }
    }
}

extension TableReader {
    func zoneNames() throws -> [String] {
        var names: [String] = []
        try visitMeta(MetaName.zonePrefix) { name, _ in
            names.append(name)
            return true
        }
        return names
    }
}
