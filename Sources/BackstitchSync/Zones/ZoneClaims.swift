import BackstitchCore
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

extension ZoneClaims {
    /// The zones that a store belongs to, and the one that it is being moved to.
    package init(_ reader: TableReader) throws {
        self.init()
        for name in try ZoneStates(reader).names() {
            let state = try reader.zoneState(name)
            if state.movingUser != nil { target = name }
            if state.isBound { bound.append(name) }
        }
    }
}
