import CloudKitWire

extension Hub {
    /// Zones by name: `zones/lookup`.
    func lookUpZones(
        _ request: LookupZonesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try checkCount(request.zones.count)
        transaction.expect(zones: request.zones, access)
        let state = try transaction.state()
        let items = try request.zones.map { id -> WireItem<WireZone> in
            do {
                return .value(Self.wireZone(try transaction.zone(id, access), access, state))
            } catch let error as WireError {
                return .failure(.zone(id), error)
            }
        }
        return .json(ZonesResponse(zones: items).body())
    }
}
