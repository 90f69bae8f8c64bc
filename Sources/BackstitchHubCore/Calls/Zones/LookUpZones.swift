import CloudKitWire

extension ZoneCalls {
    /// Zones by name: `zones/lookup`.
    func lookUpZones(
        _ request: LookupZonesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.zones.count)
        transaction.expect(zones: request.zones, access)
        let (state, database) = (try transaction.state(), try transaction.database(access))
        let items = try request.zones.map { id -> WireItem<WireZone> in
            do {
                let zone = try transaction.zone(id, access)
                return .value(zone.wireZone(database, access, state))
            } catch let error as WireError {
                return .failure(.zone(id), error)
            }
        }
        return .json(ZonesResponse(zones: items).body())
    }
}
