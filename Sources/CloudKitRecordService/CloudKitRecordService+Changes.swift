public import BackstitchCore
import CloudKitWire

extension CloudKitRecordService {
    /// The zones that changed since a token.
    public func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        let request = DatabaseChangesRequest(syncToken: token)
        let reply: ZonesResponse
        do throws(ServiceError) {
            reply = try await connection.call(.databaseChanges, database, request)
        } catch {
            throw Self.failure(error, ofToken: token)
        }
        guard let next = reply.syncToken else {
            throw ServiceError(.serviceUnavailable, "the reply has no syncToken")
        }
        var page = DatabaseChangesPage(
            changedZones: [], endedZones: [:], token: next, moreComing: reply.moreComing ?? false)
        for case .value(let zone) in reply.zones
        where zone.zoneID.zoneName != WireZoneID.defaultZoneName {
            let id = zoneID(zone.zoneID)
            if zone.isDeleted {
                page.endedZones[id] = .deleted
            } else {
                page.changedZones.append(id)
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
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        guard limit > 0 else {
            throw ServiceError(.invalidRequest, "a page has one record or more")
        }
        let feed = ZoneFeedRequest(
            zoneID: WireZoneID(zone), syncToken: token,
            resultsLimit: Int64(min(limit, currentLimits.recordsPerPage)),
            desiredKeys: fields?.sorted())
        let reply: ZoneChangesResponse
        do throws(ServiceError) {
            reply = try await connection.call(
                .zoneChanges, database, ZoneChangesRequest(zones: [feed]))
        } catch {
            throw Self.failure(error, ofToken: token)
        }
        switch reply.zones.first {
        case .failure(_, let error)?:
            throw Self.failure(ServiceError(error), ofToken: token)
        case .value(let page)?: return try Self.page(page, fields)
        case nil: throw Self.wrongCount
        }
    }

    private static func page(
        _ wire: ZoneFeedPage, _ fields: Set<String>?
    ) throws(ServiceError) -> ZoneChangesPage {
        var page = ZoneChangesPage(
            records: [], deletions: [], token: wire.syncToken, moreComing: wire.moreComing)
        page.records.reserveCapacity(wire.records.count)
        for item in wire.records {
            switch item {
            case .value(let record) where record.isDeleted:
                guard let name = record.recordName else { continue }
                page.deletions.append(
                    ServiceDeletion(recordName: name, recordType: record.recordType))
            case .value(let record):
                page.records.append(try ServiceRecord(record, requestedFields: fields))
            // The token would leave this record out for good.
            case .failure(_, let error): throw ServiceError(error)
            }
        }
        return page
    }

    /// The protocol has no code for tokens that no longer count: a call with one is refused as bad.
    private static func failure(_ error: ServiceError, ofToken token: String?) -> ServiceError {
        guard token != nil, error.code == .invalidRequest else { return error }
        return ServiceError(.tokenExpired, error.message)
    }
}
