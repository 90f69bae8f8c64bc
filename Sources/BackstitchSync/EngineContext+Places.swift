import BackstitchCore
import BackstitchLog

extension EngineContext {
    /// Where the zone with a slot is; nil if the store has none with it.
    func place(of slot: UInt8, _ catalog: CatalogSnapshot) -> ZonePlace? {
        guard slot != 0 else { return own }
        return catalog.catalog.places.first { $0.slot == slot }
    }

    /// The service of the database that a zone is in.
    ///
    /// - Parameter service: The service of the store's own zone.
    /// - Throws: `unsupported` if the service has no such database.
    func service(
        for place: ZonePlace, _ service: any RecordService
    ) throws(ServiceError) -> any RecordService {
        if place.slot == 0 || place.database == service.scope { return service }
        if let other = service.service(for: place.database) { return other }
        throw ServiceError(
            .unsupported, "the service has no \(place.database.rawValue) database")
    }
}
