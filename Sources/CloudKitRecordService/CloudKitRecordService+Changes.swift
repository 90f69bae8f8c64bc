public import BackstitchCore
import CloudKitWire

extension CloudKitRecordService {
    /// The zones that changed since a token.
    public func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        let request = DatabaseChangesRequest(syncToken: token)
        let reply: ZonesResponse = try await connection.call(
            .databaseChanges, database, request, since: token)
        guard let next = reply.syncToken else {
            throw ServiceError(.serviceUnavailable, "the reply has no syncToken")
        }
        var page = DatabaseChangesPage(
            changedZones: [], endedZones: [:], token: next, moreComing: reply.moreComing ?? false)
        for item in reply.zones {
            switch item {
            case .value(let zone) where zone.zoneID.zoneName == WireZoneID.defaultZoneName: break
            case .value(let zone) where zone.isDeleted:
                page.endedZones[zoneID(zone.zoneID)] = .deleted
            case .value(let zone): page.changedZones.append(zoneID(zone.zoneID))
            // The token would leave the zone out for good; a pull finds out more.
            case .failure(.zone(let zone?), _): page.changedZones.append(zoneID(zone))
            case .failure: break
            }
        }
        return page
    }

    /// A zone's name for the engine: in the user's own database all zones are the user's.
    func zoneID(_ id: WireZoneID) -> ZoneID {
        ZoneID(id.zoneName, ownerName: database == .shared ? id.ownerRecordName : nil)
    }

    /// One page of the records that changed in a zone since a token.
    public func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        guard limit > 0 else {
            throw ServiceError(.invalidRequest, "a page has one record or more")
        }
        let feed = ZoneFeedRequest(
            zoneID: WireZoneID(zone), syncToken: token,
            resultsLimit: Int64(min(limit, currentLimits.recordsPerPage)),
            desiredKeys: fields?.sorted(), desiredRecordTypes: types?.sorted())
        let reply: FeedPages<PulledRecord> = try await connection.call(
            .zoneChanges, database, ZoneChangesRequest(zones: [feed]), since: token)
        switch reply.zones.first {
        case .failure(_, let error)?: throw ServiceError(error, since: token)
        case .value(let page)?: return try ZoneChangesPage(page, fields)
        case nil: throw ServiceError.wrongCount
        }
    }
}
