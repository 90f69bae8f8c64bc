import BackstitchTesting

/// How often each thing happens in a simulation, and what a seed chooses from.
struct SimulationMix {
    /// The kinds of steps.
    enum Kind {
        case edit
        case exchange
        /// A device crashes, opens its store again, or its clock or network goes wrong.
        case trouble
        /// A fault of a connection.
        case fault
        case foreignEdit
        case check
        case retryParked
        case compact
        /// The service loses something.
        case service
        /// A device takes another schema, or begins anew with what it or the service has.
        case renewal
        /// A device keeps something to itself, or takes a record off itself or back.
        case locality
        /// An engine is stopped, replaced, doubled or let go while a request is in flight.
        case engine
        /// A device's application has another name of the zone.
        case zone
        /// A device opens, evicts or collects files, or transfers go wrong.
        case files
        /// A device's application takes a version with other data migrations.
        case migration
    }

    var weights: [(kind: Kind, weight: Int)] = [
        (.edit, 31), (.exchange, 34), (.trouble, 5), (.fault, 14), (.foreignEdit, 4), (.check, 2),
        (.retryParked, 2), (.compact, 3), (.service, 6), (.renewal, 3), (.locality, 3),
        (.engine, 6),
        (.zone, 2), (.files, 0), (.migration, 0),
    ]
    /// The kinds of fault that a seed takes some of.
    var faults = FaultKind.allCases
    /// What else may go wrong.
    var events = Set(SimulationFault.allCases)
    /// The most records of a kind.
    var namesMax = RecordPool.namesMax
    /// How likely a seed has a small limit of each sort.
    var limitChance = 0.4
    /// How likely a seed has large values and little room for them.
    var largeChance = 0.3
    /// How likely a seed pushes few records at a time.
    var passChance = 0.25
    var restoreChance = 0.35
    /// How likely the service of a seed is put back to an older state.
    var rollbackChance = 0.1
    var zoneLossChance = 0.2
    /// How likely devices of a seed go to another zone.
    var moveChance = 0.45
    /// How likely some devices of a seed share a store.
    var sharingChance = 0.25
    /// How likely a seed has devices with an older schema.
    var schemaChance = 0.3
    /// How likely some devices of a seed exchange a part only.
    var selectionChance = 0.2
    /// How likely the devices of a seed have policies of their own.
    var policyChance = 0.15
    /// How likely a clock is far ahead once in a seed.
    var clockChance = 0.15
    /// Whether an engine has to go on by itself in the end of some seeds.
    var mayCheckLiveness = true
    /// How likely something happens in a request that changes records; half of it in others.
    var eventChance = 0.12
    /// The schema of the devices that have no older one.
    var schema = SimulatedSchema.current

    /// How many of the kinds of fault one seed takes.
    static let faultsPerSeed = 14

    mutating func setWeights(_ changed: [Kind: Int]) {
        for index in weights.indices {
            if let weight = changed[weights[index].kind] { weights[index].weight = weight }
        }
    }
}

extension FaultKind {
    /// Faults that need circumstances to make a difference.
    static let rare: [FaultKind] = [
        .conflictWithoutServerRecord, .existsWithoutServerRecord, .droppedPoke, .reorderedFeed,
        .smallLimits, .limitExceededWrapped,
    ]

    /// Faults that few requests meet, and that are asked for more often.
    static let scarce: Set<FaultKind> = [
        .tokenExpiry, .databaseTokenExpiry, .zonePurge, .zoneDeletion, .recordNetwork,
        .recordIncompatibleVersion, .recordPermissionDenied, .accountSwitch,
        .encryptedDataReset, .recordInvalidRequest, .partialFailure,
    ]

    /// Faults that end more than a request, and don't come by chance.
    static let ending: Set<FaultKind> = [
        .zoneDeletion, .zonePurge, .encryptedDataReset, .accountSwitch,
    ]
}
