/// One engine's figure for one workload; a line of the JSON.
public struct Measurement: Codable, Equatable, Sendable {
    /// The workload's letter, such as `a` or `d-range`.
    public let workload: String
    /// When a commit counts: `full` is on disk before it returns.
    public let durability: String
    /// The engine's name.
    public let engine: String
    /// The middle of all rounds.
    public let median: Double
    /// The best round.
    public let min: Double
    /// The worst round.
    public let max: Double
    /// `ns` or `bytes`.
    public let unit: String

    /// A figure by its parts.
    public init(
        workload: String, engine: String, summary: Summary, unit: String,
        durability: String = "full"
    ) {
        self.workload = workload
        self.durability = durability
        self.engine = engine
        median = summary.median
        min = summary.min
        max = summary.max
        self.unit = unit
    }
}

/// The measurements of a run as they come in.
public struct Results: Sendable {
    private struct Place: Hashable {
        let workload: String
        let engine: String
    }

    private var values: [Place: [Double]] = [:]
    private var units: [String: String] = [:]
    /// The workloads in the order in which they were first measured.
    public private(set) var workloads: [String] = []
    /// The engines in the order in which they are shown.
    public let engines: [String]

    /// No results yet, of these engines.
    public init(engines: [String]) { self.engines = engines }

    /// Adds a round's figure.
    public mutating func add(_ value: Double, unit: String, workload: String, engine: String) {
        if units.updateValue(unit, forKey: workload) == nil { workloads.append(workload) }
        values[Place(workload: workload, engine: engine), default: []].append(value)
    }

    /// The unit of a workload.
    public func unit(_ workload: String) -> String { units[workload] ?? "" }

    /// The figure of an engine for a workload; nil where it was not measured.
    public func summary(_ workload: String, _ engine: String) -> Summary? {
        Summary(values[Place(workload: workload, engine: engine)] ?? [])
    }

    /// How many times an engine's median is that of another; nil where one is missing or zero.
    public func ratio(_ workload: String, _ engine: String, to other: String) -> Double? {
        guard let value = summary(workload, engine)?.median,
            let base = summary(workload, other)?.median, base > 0
        else { return nil }
        return value / base
    }

    /// All figures, workload by workload.
    public var measurements: [Measurement] {
        workloads.flatMap { workload in
            engines.compactMap { engine in
                summary(workload, engine).map {
                    Measurement(
                        workload: workload, engine: engine, summary: $0, unit: unit(workload))
                }
            }
        }
    }
}
