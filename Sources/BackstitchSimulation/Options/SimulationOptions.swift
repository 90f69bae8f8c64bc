package import BackstitchSync

/// What a simulation does beyond its seed.
public struct SimulationOptions: Sendable {
    /// The numbers of devices that there can be.
    public static let deviceRange = 2...8

    /// The steps before the devices settle.
    public var steps = 50
    /// The number of devices, in ``deviceRange``; nil lets the seed choose two to five.
    public var devices: Int?
    /// How often each thing happens.
    public var profile = SimulationProfile.default
    /// Which faults there are.
    public var faults = SimulationFaultChoice.bySeed
    /// The folder below which the stores are made; nil takes memory if there is some.
    public var directory: String?
    /// After how many looks, a second's rest apart, a step that does no work counts as one that
    /// hangs. Rests are counted and no clock is read, so a machine that is busy, or stood still, takes
    /// nothing away.
    public var patience = 600
    /// The jobs of stores after which a step that has not ended counts as one that never ends.
    package var jobsMax = 1_000_000
    /// How the rest between two looks is waited for; a second of the machine unless given.
    package var rest: (@Sendable () async throws -> Void)?
    /// What stands between a device and the service, made of the service; the service itself unless
    /// given.
    package var intermediary: @Sendable (any RecordService) -> any RecordService = { $0 }

    /// The defaults.
    public init() {}

    /// The arguments of `backstitch simulate` for all that is not the default.
    public var arguments: String {
        var words: [String] = []
        if profile != .default { words.append("--profile \(profile.rawValue)") }
        if let devices { words.append("--devices \(devices)") }
        if steps != SimulationOptions().steps { words.append("--steps \(steps)") }
        if faults != .bySeed { words.append("--faults \(faults)") }
        return words.joined(separator: " ")
    }
}
