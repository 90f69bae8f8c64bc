public import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Makes a zone beside the store's own, for the same user, or gives the one of this name that the store has.
    ///
    /// Save records into it with ids that name the zone: `Note.ID(in: zone)`. The zone is in the store at once,
    /// without network, and the next round makes it on the service. If the service has a zone of this name already,
    /// for example of another device, its records are pulled.
    ///
    /// - Parameter name: 1 to 255 printable ASCII characters. The first one is not an underscore.
    /// - Returns: the zone, for ids and queries.
    /// - Throws: ``SyncError``: `invalidConfiguration` for an impossible name, for that of the store's own zone, and if
    ///   the engine's service is not that of the private database.
    ///   `StoreError`: `tooManyZones` if the store has had 253 zones; `closed`, `full`, `io`.
    public func makeZone(_ name: String) async throws -> RecordID.Zone {
        let zone = try await scope.makeZone(name, in: rounds.session.service.scope)
        if machine.mode == .automatic { hand(.triggered(.save)) }
        return zone
    }
}
