package import BackstitchCore
package import BackstitchLog
import Foundation
import LMDB

/// How far a zone's synchronisation has come; kept in the store, in the same transaction as what it
/// speaks of.
package struct ZoneState: Hashable, Sendable, Codable {
    /// Why pushing and pulling stand still until the application decides.
    package enum Suspension: String, Hashable, Sendable, Codable {
        case zoneDeletedByUser
        case zonePurged
    }

    /// Whether the zone and the subscription were made.
    package var isSetUp = false
    /// Where the next page of the database's changes starts.
    package var databaseToken: String?
    /// Where the next page of the zone's changes starts.
    package var zoneToken: String?
    /// Whether the zone has changes that were not all pulled.
    package var needsPull = true
    /// Whether the pull is a full fetch, at whose end unseen records are swept out.
    package var isFullFetch = false
    /// The token that the feed was read up to before the full fetch. By it a service that lost commits knows
    /// that this device had some of them, see `ZonePull.sweep`.
    package var tokenBefore: String?
    /// The fields that pulls have asked for so far, in order; nil is all of them.
    package var fetchedFields: [String]?
    /// Whether the full fetch stores fields that were not asked for before.
    package var isCompleting: Bool?
    /// The entities that were exchanged so far, in order; nil is all of them.
    package var exchangedEntities: [String]?
    /// Whether types that no schema declares were left out.
    package var isClosed: Bool?
    /// Whether the outbox's floor may have gone past operations that a selection held back.
    package var holdsBack: Bool?
    /// Why nothing is exchanged.
    package var suspension: Suspension?
    /// The user that the store's records belong to.
    package var userName: String?
    /// The user under whom the store is being moved to this zone; nil if it is not. Carried
    /// through once begun.
    package var movingUser: String?
    /// Before when a failed round is not tried again by itself; nil if the last one ended well.
    package var retry: RetryDeadline?
    /// Whether the zone is to be deleted and filled again from here; carried through once begun.
    package var resetsRemote: Bool?
    /// Whether the local version wins until a round has ended well.
    package var prefersLocal: Bool?

    package init() {}

    /// Forgets the tokens, so that the next round fetches everything.
    package mutating func beginAnew() {
        databaseToken = nil
        beginFullFetch()
    }

    /// Lets the zone be fetched from the beginning.
    package mutating func beginFullFetch() {
        // A token of a full fetch that is under way tells only of what the service has since it began.
        if !isFullFetch { tokenBefore = zoneToken }
        zoneToken = nil
        needsPull = true
        isFullFetch = true
    }
}

/// The bytes that say the state of a zone. They are equal if the states are, and need not be decoded for that.
struct StoredZoneState: Equatable {
    /// Nil if nothing is stored.
    fileprivate let bytes: [UInt8]?
    /// Whether everything is to be fetched though no state is stored.
    fileprivate let fetchesAll: Bool

    init(of zone: ZonePlace, _ reader: TableReader) throws {
        bytes = try reader.meta.value(MetaName.zone(zone))
        fetchesAll = try bytes == nil && reader.meta.value(MetaName.fetchAll) != nil
    }

    /// The state; a new one if nothing is stored.
    fileprivate func decoded(of zone: ZonePlace) throws -> ZoneState {
        guard let bytes else {
            var state = ZoneState()
            state.isFullFetch = fetchesAll
            return state
        }
        do {
            return try JSONDecoder().decode(ZoneState.self, from: Data(bytes))
        } catch {
            throw StoreError(
                .damaged,
                "The state of the zone \(zone.id.zoneName) can't be read. Run verify, then rebuild."
            )
        }
    }
}

extension MetaName {
    /// The state of a zone's synchronisation. That of the store's own zone has its name, the others their slots.
    static func zone(_ zone: ZonePlace) -> String {
        zone.slot == 0 ? self.zone(zone.id.zoneName) : "sync" + suffix(of: zone.slot)
    }
}

extension TableReader {
    /// The state of a store's own zone; a new one if nothing is stored.
    package func zoneState(_ name: String) throws -> ZoneState { try zoneState(.own(name)) }

    /// The state of a zone; a new one if nothing is stored.
    package func zoneState(_ zone: ZonePlace) throws -> ZoneState {
        try StoredZoneState(of: zone, self).decoded(of: zone)
    }
}

/// What a store has of all zones.
package struct ZoneStates {
    private let reader: TableReader

    package init(_ reader: TableReader) {
        self.reader = reader
    }

    /// The names of the zones that have a state, in order.
    package func names() throws -> [String] {
        var names: [String] = []
        try reader.meta.visit(MetaName.zonePrefix) { name, _ in
            names.append(name)
            return true
        }
        return names
    }

    /// The user that the store belongs to, whatever the zone; nil before the first set-up.
    package func boundUser() throws -> String? {
        for name in try names() {
            if let user = try reader.zoneState(name).userName { return user }
        }
        return nil
    }
}

extension LogWriter {
    /// Stores the state of a store's own zone.
    package func setZoneState(_ state: ZoneState, _ name: String) throws {
        try setZoneState(state, .own(name))
    }

    /// Stores the state of a zone.
    package func setZoneState(_ state: ZoneState, _ zone: ZonePlace) throws {
        try setMeta(MetaName.zone(zone), try state.sortedJSON())
    }
}
