public import BackstitchCore
public import BackstitchSync

/// Checks that a service keeps the rules that a sync engine relies on.
///
/// Works on any ``RecordService`` and needs no test framework: each check returns its findings as
/// text. Each works in a zone of its own, which it does not delete.
///
/// ```swift
/// let conformance = RecordServiceConformance(service) { ZoneID("check-\(UUID())") }
/// #expect(await conformance.run() == [])
/// ```
public struct RecordServiceConformance: Sendable {
    /// One group of rules.
    public enum Check: String, Hashable, Sendable, CaseIterable {
        /// Create, update and delete against a record that is there, or not, or has another tag.
        case tags = "tags"
        /// Fields that are set, left alone and cleared.
        case fields = "fields"
        /// All or none, and who is to blame.
        case atomicity = "atomicity"
        /// Pages of every size, each record once.
        case paging = "paging"
        /// Pages while records are written.
        case writesWhilePaging = "writes while paging"
        /// Tokens as points to go on from, and texts that are no tokens.
        case tokens = "tokens"
        /// Deletions in the feed.
        case deletions = "deletions"
        /// One's own writes in the feed.
        case echoes = "echoes"
        /// What a delete does to those that refer to the record.
        case references = "references"
        /// Requests, records and pages over the limits.
        case limits = "limits"
        /// Two operations for one record.
        case duplicates = "duplicates"
        /// Names that records, types and fields may not have.
        case names = "names"
        /// Zones and subscriptions made twice, and zones deleted.
        case setUp = "set-up"
        /// Calls to a zone that is not there.
        case unknownZone = "unknown zone"
        /// Values of all types, there and back.
        case values = "values"
        /// Values that can't be kept.
        case refusedValues = "refused values"
        /// Tags that are not the record's, and the record that comes with a conflict.
        case conflicts = "conflicts"
        /// Records deleted twice and created again, and what their names may be.
        case lives = "lives"
        /// Names looked up: found or not, in order, twice, too many.
        case lookups = "lookups"
        /// Operations of all kinds in one request, with one culprit and with several.
        case batches = "batches"
        /// Records and requests at the limits of bytes.
        case sizes = "sizes"
        /// Pages with some fields.
        case desiredFields = "desired fields"
        /// Pages with some record types.
        case desiredTypes = "desired types"
        /// Calls that are under way at once.
        case callsAtOnce = "calls at once"
        /// Tokens that were cut, lengthened and changed, and the order of the feed.
        case damagedTokens = "damaged tokens"
        /// Zones deleted and created again.
        case zoneLives = "zone lives"
        /// Zones of others, and names that zones may have.
        case foreignZones = "foreign zones"
        /// Cascades over lists, moves and what holds them up.
        case cascades = "cascades"
        /// References and their targets in one request.
        case referencesOfBatches = "references of batches"
    }

    let service: any RecordService
    let freshZone: @Sendable () -> ZoneID

    /// Checks for a service.
    ///
    /// - Parameters:
    ///   - service: The service, signed in as a user who may make zones.
    ///   - freshZone: A zone that does not exist, another one at each call. The checks create it.
    public init(_ service: any RecordService, freshZone: @escaping @Sendable () -> ZoneID) {
        self.service = service
        self.freshZone = freshZone
    }

    /// Runs all checks.
    ///
    /// - Returns: What is wrong; empty if nothing is.
    public func run() async -> [String] {
        var failures: [String] = []
        for check in Check.allCases { failures += await run(check) }
        return failures
    }

    /// Runs one check.
    ///
    /// - Returns: What is wrong; empty if nothing is.
    public func run(_ check: Check) async -> [String] {
        let probe = ConformanceProbe(service, in: freshZone(), for: check)
        do throws(ServiceError) {
            if check != .unknownZone { try await service.createZone(probe.zone) }
            try await run(check, probe)
        } catch {
            probe.note("a call failed with \(error)")
        }
        return probe.failures
    }
}
