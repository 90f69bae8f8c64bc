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
                    let counts = tally.counts(in: zone.number)
                    return StoreInfo.Zone(zone, try self.state(of: zone), counts)
                }
        }
    }

    /// The zone with a name; nil if the store has no such zone.
    func zone(named name: String, owner: String?) throws -> RecordID.Zone? {
        if owner == nil, let own = try ownName, own.utf8.elementsEqual(name.utf8) { return .own }
        return others.first { $0.owner == owner && $0.name.utf8.elementsEqual(name.utf8) }
            .map { RecordID.Zone(slot: $0.number) }
    }

    private var others: [CatalogZone] { reader.catalog.catalog.zones.filter { $0.endedAt == nil } }

    /// The name of the zone that the records of slot 0 are in, or are being moved to.
    private var ownName: String? {
        get throws {
            let claims = try ZoneClaims(reader)
            return try claims.target ?? claims.bound.first ?? ZoneStates(reader).names().first
        }
    }

    private func state(of zone: CatalogZone) throws -> ZoneState {
        let name = MetaName.zonePrefix.dropLast() + MetaName.suffix(of: zone.number)
        guard let bytes = try reader.meta.value(String(name)) else {
            var state = ZoneState()
            state.isFullFetch = try reader.meta.value(MetaName.fetchAll) != nil
            return state
        }
        do {
            return try JSONDecoder().decode(ZoneState.self, from: Data(bytes))
        } catch {
            throw StoreError(
                .damaged,
                "The state of the zone \(zone.name) can't be read. Run verify, then rebuild.")
        }
    }
}

extension StoreInfo.Zone {
    fileprivate init(_ name: String?, _ state: ZoneState, _ counts: OutboxTally.Counts) {
        self.init(
            .own, name: name, owner: nil, database: .private, state: state, counts: counts)
    }

    fileprivate init(_ zone: CatalogZone, _ state: ZoneState, _ counts: OutboxTally.Counts) {
        self.init(
            RecordID.Zone(slot: zone.number), name: zone.name, owner: zone.owner,
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
