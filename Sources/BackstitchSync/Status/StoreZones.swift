import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation

/// The zones of a store at one moment.
struct StoreZones {
    private let reader: TableReader

    init(_ reader: TableReader) { self.reader = reader }

    /// The own zone, then the others by their slots.
    var all: [StoreInfo.Zone] {
        get throws {
            let tally = try OutboxCounter(reader).tally
            let own = try ownName
            let state = try own.map { try reader.zoneState($0) } ?? ZoneState()
            return try [StoreInfo.Zone(own, state, tally.counts(in: 0))]
                + others.map { zone in
                    let counts = tally.counts(in: zone.slot)
                    return StoreInfo.Zone(zone, try reader.zoneState(zone), counts)
                }
        }
    }

    /// The zone with a name; nil if the store has no such zone.
    func zone(named name: String, owner: String?) throws -> RecordID.Zone? {
        if owner == nil, let own = try ownName, own.utf8.elementsEqual(name.utf8) { return .own }
        return others.first {
            $0.id.ownerName == owner && $0.id.zoneName.utf8.elementsEqual(name.utf8)
        }.map { RecordID.Zone(slot: $0.slot) }
    }

    private var others: [ZonePlace] { reader.catalog.catalog.places }

    /// The name of the zone that the records of slot 0 are in, or are being moved to.
    private var ownName: String? {
        get throws {
            let claims = try ZoneClaims(reader)
            return try claims.target ?? claims.bound.first ?? ZoneStates(reader).names().first
        }
    }
}

extension StoreInfo.Zone {
    fileprivate init(_ name: String?, _ state: ZoneState, _ counts: OutboxTally.Counts) {
        self.init(
            .own, name: name, owner: nil, database: .private, state: state, counts: counts)
    }

    fileprivate init(_ zone: ZonePlace, _ state: ZoneState, _ counts: OutboxTally.Counts) {
        self.init(
            RecordID.Zone(slot: zone.slot), name: zone.id.zoneName, owner: zone.id.ownerName,
            database: zone.database, state: state, counts: counts)
    }

    private init(
        _ zone: RecordID.Zone, name: String?, owner: String?, database: DatabaseScope,
        state: ZoneState, counts: OutboxTally.Counts
    ) {
        self.init(
            zone: zone, name: name, owner: owner, database: database, isSetUp: state.isSetUp,
            hasToken: state.zoneToken != nil, needsPull: state.needsPull,
            isFullFetch: state.isFullFetch, suspension: state.suspension?.rawValue,
            retryDate: state.retry.map { Date(milliseconds: $0.dueMilliseconds) },
            records: counts.records, pendingRecords: counts.pendingRecords,
            parkedRecords: counts.parkedRecords)
    }
}
