import CloudKitWire

extension ZoneCalls {
    /// All zones: `zones/list`.
    func listZones(
        _ call: HubCall, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> HubResponse {
        transaction.expect {
            access.expected(zones: []) + [access.expectedZones(configuration.limits)]
        }
        let zones = try transaction.zones(access)
        let (state, database) = (try transaction.state(), try transaction.database(access))
        let items = zones.map { WireItem.value($0.wireZone(database, access, state)) }
        return .json(ZonesResponse(zones: items).body())
    }
}

extension ZoneRow {
    /// The zone as replies tell it.
    func wireZone(
        _ database: DatabaseRow, _ access: DatabaseAccess, _ state: StateRow
    ) -> WireZone {
        let id = access.wireID(zoneName)
        guard !isDeleted else { return WireZone(zoneID: id, isDeleted: true) }
        guard !isDefault else { return WireZone(zoneID: id, isAtomic: false) }
        let token = FeedToken(endOf: self, of: database, in: access.partition)
        return WireZone(zoneID: id, syncToken: token.text(state), isAtomic: true)
    }
}
