import BackstitchCore
import BackstitchSync

extension RecordServiceConformance {
    /// Runs the check of a name, in the zone of the probe.
    func run(_ check: Check, _ probe: ConformanceProbe) async throws(ServiceError) {
        let records = RecordConformance(probe: probe)
        let feed = FeedConformance(probe: probe)
        let batches = BatchConformance(probe: probe)
        let values = ValueConformance(probe: probe)
        let conflicts = ConflictConformance(probe: probe)
        let references = ReferenceConformance(probe: probe)
        let zones = ZoneConformance(probe: probe)
        switch check {
        case .tags: try await records.tags()
        case .fields: try await records.fields()
        case .atomicity: try await records.atomicity()
        case .paging: try await feed.paging()
        case .writesWhilePaging: try await feed.writesWhilePaging()
        case .tokens: try await feed.tokens(otherZone: freshZone())
        case .deletions: try await feed.deletions()
        case .echoes: try await feed.echoes()
        case .references: try await references.references()
        case .limits: try await records.limits()
        case .duplicates: try await records.duplicates()
        case .names: try await records.names()
        case .setUp: try await zones.setUp()
        case .unknownZone: try await zones.unknownZone()
        case .values: try await values.values()
        case .refusedValues: try await values.refusedValues()
        case .conflicts: try await conflicts.conflicts()
        case .lives: try await conflicts.lives()
        case .lookups: try await conflicts.lookups()
        case .batches: try await batches.batches()
        case .sizes: try await batches.sizes()
        case .desiredFields: try await batches.desiredFields()
        case .desiredTypes: try await feed.desiredTypes()
        case .callsAtOnce: await CallsAtOnceConformance(probe: probe).callsAtOnce()
        case .damagedTokens: try await feed.damagedTokens()
        case .zoneLives: try await zones.zoneLives(otherZone: freshZone())
        case .foreignZones: try await zones.foreignZones()
        case .cascades: try await references.cascades()
        case .referencesOfBatches: try await references.referencesOfBatches()
        }
    }
}
