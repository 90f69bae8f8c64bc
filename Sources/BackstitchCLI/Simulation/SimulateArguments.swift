import BackstitchSimulation
import BackstitchTesting
import Foundation
import Terminal

/// What `backstitch simulate` is asked to run: seeds with options, or a script.
struct SimulateArguments {
    /// The most steps of a run.
    static let stepsMax = 100_000
    /// The most seconds that a step of a seed may do nothing.
    static let patienceMax = 86_400

    static let seeds = Syntax.Option(
        "seeds", "A..B", "The first and the last seed, or a single one.")
    static let devices = Syntax.Option(
        "devices", "N", "How many devices there are, 2 to 8; unless given, the seed chooses.")
    static let steps = Syntax.Option(
        "steps", "N", "How many steps go before the devices settle; 50 unless given.")
    static let profile = Syntax.Option(
        "profile", "NAME", "How often each thing happens; default unless given.")
    static let faults = Syntax.Option(
        "faults", "LIST", "The faults that there are; unless given, the seed chooses.")
    static let fresh = Syntax.Option(
        "fresh", "N", "Runs so many seeds that are drawn from all 64 bits.")
    static let from = Syntax.Option(
        "from", "NUMBER", "Draws the fresh seeds of an earlier run, which told this number.")
    static let patience = Syntax.Option(
        "patience", "SECONDS",
        "How long a step of a seed may do nothing; 600 unless given.")
    static let script = Syntax.Option("script", "FILE", "Runs a script instead of seeds.")
    static let shrink = Syntax.Option("shrink", nil, "Writes a short script of a failure.")

    /// The seeds to be run.
    enum Seeds {
        case range(ClosedRange<UInt64>)
        case fresh(FreshSeeds)
    }

    let seeds: Seeds
    var options = SimulationOptions()
    /// The script and where it was read from.
    let script: (path: String, content: SimulationScript)?
    let shrinks: Bool

    init(_ arguments: Arguments) throws {
        shrinks = arguments.has(Self.shrink)
        if let seconds = try Self.number(arguments, Self.patience, 1...Self.patienceMax) {
            options.patience = seconds
        }
        if let path = arguments.text(Self.script) {
            let others = [
                Self.seeds, Self.fresh, Self.from, Self.devices, Self.steps, Self.profile,
                Self.faults,
            ]
            if let other = others.first(where: arguments.has) {
                throw UsageError(
                    "A script says all of it: leave out --\(other.name), or --script.")
            }
            let content = try Self.read(path)
            script = (path, content)
            seeds = .range(content.seed...content.seed)
            return
        }
        script = nil
        seeds = try Self.seeds(arguments)
        options.devices = try Self.number(arguments, Self.devices, SimulationOptions.deviceRange)
        options.steps =
            try Self.number(arguments, Self.steps, 1...Self.stepsMax) ?? options.steps
        if let name = arguments.text(Self.profile) {
            options.profile = try Self.profile(named: name)
        }
        if let list = arguments.text(Self.faults) { options.faults = try Self.faults(list) }
    }

    /// How many runs there are.
    var total: Int {
        switch seeds {
        case .range(let seeds):
            let (count, isAll) = (seeds.upperBound - seeds.lowerBound).addingReportingOverflow(1)
            return isAll ? .max : Int(clamping: count)
        case .fresh(let seeds): return seeds.count
        }
    }

    /// Runs the seeds, or the script.
    func run(
        parallel: Int, stopsAtFailure: Bool, progress: @Sendable (SimulationResult) -> Void
    ) async -> SimulationSummary {
        guard let script else {
            switch seeds {
            case .range(let seeds):
                return await SimulationRun.run(
                    seeds: seeds, options: options, parallel: parallel,
                    stopsAtFailure: stopsAtFailure, progress: progress)
            case .fresh(let seeds):
                return await SimulationRun.run(
                    seeds: seeds, options: options, parallel: parallel,
                    stopsAtFailure: stopsAtFailure, progress: progress)
            }
        }
        let result = await script.content.run(options: options)
        progress(result)
        var summary = SimulationSummary()
        summary.add(result)
        return summary
    }

    /// The number that fresh seeds follow from; nil if they were chosen.
    var start: UInt64? {
        if case .fresh(let seeds) = seeds { seeds.start } else { nil }
    }

    func script(of seed: UInt64) -> SimulationScript {
        script?.content ?? SimulationScript(seed: seed, options: options)
    }

    /// The command that runs a failure again.
    func replay(_ failure: SimulationFailure) -> String {
        script.map { "backstitch simulate --script \($0.path)" } ?? failure.replay
    }

    // MARK: Reading

    private static func seeds(_ arguments: Arguments) throws(UsageError) -> Seeds {
        guard let count = try arguments.number(fresh, as: Int.self) else {
            if arguments.has(from) {
                throw UsageError("The option --from goes with --fresh.")
            }
            return .range(try range(arguments.text(seeds)))
        }
        if arguments.has(seeds) {
            throw UsageError("Give --seeds for chosen seeds, or --fresh for drawn ones, not both.")
        }
        guard let text = arguments.text(from) else {
            return .fresh(FreshSeeds(from: .random(in: 0...(.max)), count: count))
        }
        guard let start = UInt64(text) else {
            throw UsageError(
                "The option --from takes the number that the earlier run told, and not "
                    + "'\(text.printable)'.")
        }
        return .fresh(FreshSeeds(from: start, count: count))
    }

    /// The seeds that a text names: `A..B` or `N`.
    static func range(_ text: String?) throws(UsageError) -> ClosedRange<UInt64> {
        guard let text else {
            throw UsageError("Give the seeds: --seeds A..B, --fresh N, or a --script.")
        }
        let ends = text.split(separator: ".", omittingEmptySubsequences: false)
        if ends.count == 1, let seed = UInt64(text) { return seed...seed }
        if ends.count == 3, ends[1].isEmpty, let first = UInt64(ends[0]),
            let last = UInt64(ends[2]), first <= last
        {
            return first...last
        }
        throw UsageError(
            "The option --seeds takes a number, or two as in 1..2000, and not '\(text.printable)'.")
    }

    private static func number(
        _ arguments: Arguments, _ option: Syntax.Option, _ range: ClosedRange<Int>
    ) throws(UsageError) -> Int? {
        guard let text = arguments.text(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "The option --\(option.name) takes a whole number from \(range.lowerBound) to "
                    + "\(range.upperBound), and not '\(text.printable)'.")
        }
        return number
    }

    private static func profile(named name: String) throws(UsageError) -> SimulationProfile {
        if let profile = SimulationProfile(rawValue: name) { return profile }
        let names = SimulationProfile.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("There is no profile '\(name.printable)'; there are \(names).")
    }

    private static func faults(_ list: String) throws(UsageError) -> SimulationFaultChoice {
        switch SimulationFaultChoice.reading(list) {
        case .success(let choice): return choice
        case .failure(let unknown):
            throw UsageError(
                "There is no fault '\(unknown.name.printable)'; "
                    + "'backstitch simulate --help' lists them.")
        }
    }

    private static func read(_ path: String) throws -> SimulationScript {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        while let part = try file.next() { bytes += part }
        do {
            return try SimulationScript(json: Data(bytes))
        } catch {
            throw Refusal("'\(path.printable)': \(error)")
        }
    }

    // MARK: Telling

    static var profileLines: String {
        let rows = SimulationProfile.allCases.map { [$0.rawValue, $0.summary] }
        return Table.lines(rows, indent: 2).joined(separator: "\n")
    }

    /// The names of faults, a few in a line.
    static var faultLines: String {
        var lines: [String] = []
        for name in SimulationFaultChoice.names {
            if let last = lines.last, last.count + name.count < 90 {
                lines[lines.count - 1] = last + " " + name
            } else {
                lines.append("  " + name)
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension SimulateArguments: CustomStringConvertible {
    var description: String {
        if let script { return "script \(script.path)" }
        return (start.map { "fresh seeds from \($0), " } ?? "")
            + "profile \(options.profile.rawValue), devices "
            + (options.devices.map(String.init) ?? "by seed")
            + ", \(options.steps) steps, faults \(options.faults)"
    }
}
