import BackstitchCore
import BackstitchSync

extension RecordServiceConformance {
    /// Runs the check of a name, in the zone of the probe.
    func run(_ check: Check, _ probe: inout ConformanceProbe) async throws(ServiceError) {
        switch check {
        case .tags: try await probe.checkTags()
        case .fields: try await probe.checkFields()
        case .atomicity: try await probe.checkAtomicity()
        case .paging: try await probe.checkPaging()
        case .writesWhilePaging: try await probe.checkWritesWhilePaging()
        case .tokens: try await probe.checkTokens(otherZone: freshZone())
        case .deletions: try await probe.checkDeletions()
        case .echoes: try await probe.checkEchoes()
        case .references: try await probe.checkReferences()
        case .limits: try await probe.checkLimits()
        case .duplicates: try await probe.checkDuplicates()
        case .names: try await probe.checkNames()
        case .setUp: try await probe.checkSetUp()
        case .unknownZone: try await probe.checkUnknownZone()
        case .values: try await probe.checkValues()
        case .refusedValues: try await probe.checkRefusedValues()
        case .conflicts: try await probe.checkConflicts()
        case .lives: try await probe.checkLives()
        case .lookups: try await probe.checkLookups()
        case .batches: try await probe.checkBatches()
        case .sizes: try await probe.checkSizes()
        case .desiredFields: try await probe.checkDesiredFields()
        case .damagedTokens: try await probe.checkDamagedTokens()
        case .zoneLives: try await probe.checkZoneLives(otherZone: freshZone())
        case .foreignZones: try await probe.checkForeignZones()
        case .cascades: try await probe.checkCascades()
        case .referencesOfBatches: try await probe.checkReferencesOfBatches()
        }
    }
}
