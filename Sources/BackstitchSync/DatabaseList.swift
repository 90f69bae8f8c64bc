import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Reads which zones of a database changed. The list is of the database, and the zone that has its turn reads it
/// for all.
struct DatabaseList {
    private let exchange: ZoneExchange
    /// The other zones of the database.
    private let others: [ZoneExchange]
    /// The zone whose state has the token of the list.
    private let keeper: ZonePlace

    /// - Parameters:
    ///   - exchange: The zone that has its turn.
    ///   - all: All zones of the store.
    init(_ exchange: ZoneExchange, _ all: [ZoneExchange]) {
        self.exchange = exchange
        let zones = all.filter { $0.place.database == exchange.place.database }
        others = zones.filter { $0.slot != exchange.slot }
        keeper = zones.map(\.place).min { $0.slot < $1.slot } ?? exchange.place
    }

    /// Reads the next page, and notes the token and the zones that it names in one transaction.
    ///
    /// - Returns: The event of the zone that has its turn, and the slots of the others that the page names.
    func fetch() async throws -> (SyncEvent, changed: Set<UInt8>) {
        let token = try exchange.store.read { try $0.reader.zoneState(keeper) }.databaseToken
        let page = try await exchange.service.databaseChanges(since: token)
        let isStuck =
            page.moreComing
            && exchange.progress.isStuck(in: .database, at: page.token, after: token)
        if isStuck { exchange.report.noteStuck() }
        let named = ([exchange] + others).filter { page.names($0.zone) }
        // The end is told once: should it be forgotten in a crash, the pull meets it again.
        try await store(page.token, needsPull: named)
        for zone in named where page.changedZones.contains(zone.zone) {
            zone.progress.isZoneChanged = true
        }
        return (
            .databaseChanges(
                zoneChanged: page.changedZones.contains(exchange.zone),
                zoneEnded: page.endedZones[exchange.zone].map(\.code),
                moreComing: page.moreComing && !isStuck),
            Set(named.map(\.slot)).subtracting([exchange.slot])
        )
    }

    /// Lets the list be read from its beginning. That one does not name zones that are gone, and a pull finds out.
    ///
    /// - Returns: The slots of the other zones.
    func begin() async throws -> Set<UInt8> {
        for zone in [exchange] + others { zone.progress.beginFeeds() }
        try await store(nil, needsPull: [exchange] + others)
        return Set(others.map(\.slot))
    }

    private func store(_ token: String?, needsPull: [ZoneExchange]) async throws {
        let (keeper, places) = (keeper, needsPull.map(\.place))
        try await exchange.write(with: others) { log in
            for place in Set(places + [keeper]) {
                let old = try log.reader.zoneState(place)
                var state = old
                if place == keeper { state.databaseToken = token }
                if places.contains(place) { state.needsPull = true }
                if state != old { try log.setZoneState(state, place) }
            }
        }
    }
}

extension DatabaseChangesPage {
    fileprivate func names(_ zone: ZoneID) -> Bool {
        changedZones.contains(zone) || endedZones[zone] != nil
    }
}

extension DatabaseChangesPage.ZoneEnd {
    /// The failure that calls to the zone would meet.
    var code: ServiceError.Code {
        switch self {
        case .deleted: .zoneNotFound
        case .purged: .zonePurged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
