import BackstitchCore
import BackstitchTesting

/// A named mix of what happens in a simulation.
public enum SimulationProfile: String, Hashable, Sendable, CaseIterable {
    /// Some of everything.
    case `default`
    /// Devices and another client edit and exchange; nothing goes wrong. So the service keeps all commits, and
    /// the fault *rollback* is in no seed.
    case quiet
    /// Few records, and many edits of the same.
    case conflicts
    /// Lost and late replies, timeouts, rate limits.
    case network
    /// Lost zones, services that lose their last commits or all they had, tokens that expire.
    case resets
    /// Devices end at any moment.
    case crashes
    /// Small requests and pages, values that are too large.
    case limits
    /// Records with natural keys, which become one if several devices make them.
    case naturalKeys
    /// Records with files, whose transfers are cut. The service keeps all commits and there is no *rollback*:
    /// devices evict what the service has, and a lost commit would take the only copy of a file along.
    case assets
    /// Applications of mixed versions change all records once, each on its devices.
    case migrations
    /// A proxy that answers in the service's place, feeds that are stuck, records that can't be delivered.
    case proxies

    /// What it is, in a few words.
    public var summary: String {
        switch self {
        case .default: "some of everything"
        case .quiet: "edits and exchanges; nothing goes wrong"
        case .conflicts: "few records, many edits of the same"
        case .network: "lost and late replies, timeouts, rate limits"
        case .resets: "lost zones, services that lose commits or all, expired tokens"
        case .crashes: "devices end at any moment"
        case .limits: "small requests and pages, values that are too large"
        case .naturalKeys: "records with unique values, made on several devices"
        case .assets: "records with files, whose transfers are cut; eviction, collection, undo"
        case .migrations: "mixed versions of applications, with data migrations"
        case .proxies: "answers of proxies, stuck feeds, records that can't be delivered"
        }
    }

    var mix: SimulationMix {
        var mix = SimulationMix()
        switch self {
        case .default: break
        case .quiet:
            mix.faults = []
            mix.events = [.foreignEdit]
        case .conflicts:
            mix.setWeights([.edit: 45, .foreignEdit: 12, .fault: 6, .service: 1])
            mix.namesMax = 2
            mix.eventChance = 0.3
            mix.faults = FaultKind.ofConflicts
        case .network:
            mix.setWeights([.fault: 30, .service: 1])
            mix.faults = FaultKind.ofNetworks
        case .resets:
            mix.setWeights([.service: 25, .fault: 20, .renewal: 10, .zone: 5])
            mix.faults = FaultKind.ofResets
            mix.restoreChance = 0.5
            mix.rollbackChance = 0.25
            mix.zoneLossChance = 0.5
        case .crashes:
            mix.setWeights([.trouble: 30, .compact: 8, .fault: 6, .service: 2])
            mix.events = [
                .crash, .crashBeforeCommit, .crashInCompaction, .fullDisk, .reopen,
                .editDuringRequest, .secondProcess, .engineReplaced, .engineMoved,
                .zoneRenamed, .zoneMove, .rollback,
            ]
            mix.sharingChance = 0.5
            mix.eventChance = 0.25
        case .limits:
            mix.setWeights([.edit: 40, .service: 1])
            mix.faults = FaultKind.ofLimits
            mix.limitChance = 1
            mix.largeChance = 0.6
            mix.passChance = 0.6
        case .naturalKeys:
            mix.setWeights([.edit: 60, .exchange: 30, .fault: 10, .foreignEdit: 6])
            mix.schema = .keyed
            // A device does not merge what it does not have, or does not know to be unique.
            mix.events.subtract([.schemaChange, .selection, .eviction, .localOnlyEdit])
        case .assets:
            mix.setWeights([
                .edit: 26, .exchange: 34, .files: 26, .fault: 6, .service: 2, .trouble: 6,
                .compact: 4, .renewal: 0, .zone: 0,
            ])
            mix.schema = .files
            mix.faults = FaultKind.ofNetworks + [.recordAssetMissing]
            // A file that only the service had is gone with its zone, or with the commit that named it.
            mix.events.subtract([
                .restore, .rollback, .wipe, .zoneDeletedByClient, .schemaChange, .selection,
                .zoneMove, .zoneRenamed, .reset,
            ])
            mix.sharingChance = 0.4
            mix.eventChance = 0.15
            mix.mayCheckLiveness = false
        case .migrations:
            mix.setWeights([.migration: 14, .edit: 40, .trouble: 10, .fault: 6, .service: 2])
            mix.schemaChance = 0.5
            mix.sharingChance = 0.4
        case .proxies:
            mix.setWeights([.fault: 40, .service: 2])
            mix.faults = FaultKind.ofProxies
        }
        return mix
    }
}

extension FaultKind {
    fileprivate static let ofConflicts: [FaultKind] = [
        .conflictWithoutServerRecord, .existsWithoutServerRecord, .lostReply, .lateExecution,
        .duplicateExecution, .staleRead, .partialFailure,
    ]

    fileprivate static let ofNetworks: [FaultKind] = [
        .lostReply, .lostRequest, .lateExecution, .duplicateExecution, .staleRead, .droppedPoke,
        .partialFailure, .rateLimitedRetryAfter, .zoneBusyRetryAfter, .serviceUnavailableRetryAfter,
        .error(.network), .error(.rateLimited), .error(.serviceUnavailable), .recordNetwork,
        .recordRateLimited, .proxyAnswer, .stuckFeed, .recordError,
    ]

    fileprivate static let ofProxies: [FaultKind] = [
        .proxyAnswer, .stuckFeed, .recordError, .staleRead, .tokenExpiry, .smallPages,
        .smallLimits, .lostReply, .partialFailure,
    ]

    fileprivate static let ofResets: [FaultKind] = [
        .tokenExpiry, .databaseTokenExpiry, .zoneDeletion, .zonePurge, .encryptedDataReset,
        .emptyPages, .lostReply,
    ]

    fileprivate static let ofLimits: [FaultKind] = [
        .smallLimits, .limitExceededWrapped, .smallPages, .emptyPages, .reorderedFeed,
        .recordLimitExceeded, .error(.limitExceeded), .partialFailure,
    ]
}
