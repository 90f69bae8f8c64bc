import CloudKitWire

extension Hub {
    /// All zones: `zones/list`.
    func listZones(
        _ call: HubCall, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> HubResponse {
        transaction.expect {
            [.key(StateRow.key), access.expectedZones(configuration.limits)]
        }
        let zones = try transaction.zones(access)
        let state = try transaction.state()
        let items = zones.map { WireItem.value(Self.wireZone($0, access, state)) }
        return .json(ZonesResponse(zones: items).body())
    }

    /// A zone as replies tell it.
    static func wireZone(_ zone: ZoneRow, _ access: DatabaseAccess, _ state: StateRow) -> WireZone {
        let id = access.wireID(zone.zoneName)
        guard !zone.isDeleted else { return WireZone(zoneID: id, isDeleted: true) }
        guard !zone.isDefault else { return WireZone(zoneID: id, isAtomic: false) }
        let token = FeedToken(
            .zone, access.partition, zone: zone.number, origin: zone.sequence,
            sequence: zone.sequence)
        return WireZone(zoneID: id, syncToken: token.text(state), isAtomic: true)
    }
}
