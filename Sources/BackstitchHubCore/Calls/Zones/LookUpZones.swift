import CloudKitWire

extension ZoneCalls {
    /// Zones by name: `zones/lookup`.
    func lookUpZones(
        _ request: LookupZonesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.zones.count)
        transaction.expect(zones: request.zones, access)
        let state = try transaction.state()
        let items = try request.zones.map { id -> WireItem<WireZone> in
            do {
                return .value(try transaction.zone(id, access).wireZone(access, state))
            } catch let error as WireError {
                return .failure(.zone(id), error)
            }
        }
        return .json(ZonesResponse(zones: items).body())
    }
}
