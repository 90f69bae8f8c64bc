import BenchmarkKit
import Foundation

/// `backstitch-bench compare`.
enum CompareCommand {
    static let help = """
        compare: the same work on Backstitch, LMDB, SQLite and RocksDB, in interleaved rounds

          --rounds N       how often everything is measured; 5 unless given
          --only a,b,c     the workloads to measure: \(names(Workload.self))
          --engines x,y    the engines: \(names(EngineKind.self))
          --records N      how many contacts; 100000 unless given
          --seed N         another set of contacts
          --directory DIR  where the stores are made; the current folder unless given
          --cgroup DIR     a control group of Linux to go into once the contacts are made, so that a
                           limit of its memory is one of the engines and their pages alone
          --json           writes the figures to the standard output, as a list in JSON
          --output FILE    where the same list is kept; Benchmarks/results/compare.json
                           unless given
          --svg FILE       draws the ratios; Benchmarks/results/compare.svg unless given
        """

    private static func names<Name: RawRepresentable & CaseIterable>(_ type: Name.Type) -> String
    where Name.RawValue == String {
        type.allCases.map(\.rawValue).joined(separator: ",")
    }

    static func options(_ arguments: inout Arguments) throws -> CompareOptions {
        var options = CompareOptions()
        while let word = arguments.next() {
            switch word {
            case "--rounds": options.rounds = try arguments.number(of: word, from: 1)
            case "--only": options.workloads = try workloads(&arguments, word)
            case "--engines": options.engines = try arguments.names(of: word)
            case "--records": options.records = try arguments.number(of: word, from: 1_000)
            case "--seed": options.seed = UInt64(try arguments.number(of: word, from: 0))
            case "--directory": options.directory = try arguments.value(of: word)
            case "--cgroup": options.controlGroup = try arguments.value(of: word)
            case "--json": options.isJSON = true
            case "--output": options.output = try arguments.value(of: word)
            case "--svg": options.svg = try arguments.value(of: word)
            default:
                throw Arguments.Mistake(description: "compare does not know \(word).")
            }
        }
        return options
    }

    /// The workloads by name; `d` is all queries.
    private static func workloads(
        _ arguments: inout Arguments, _ option: String
    ) throws -> [Workload] {
        try arguments.value(of: option).split(separator: ",").flatMap { text -> [Workload] in
            if text == "d" { return Workload.allCases.filter { $0.question != nil } }
            guard let workload = Workload(rawValue: String(text)) else {
                throw Arguments.Mistake(
                    description: "\(option) does not know \(text). It takes: "
                        + "\(names(Workload.self)), and d for all queries.")
            }
            return [workload]
        }
    }

    static func run(_ options: CompareOptions) async throws {
        let results = try await Comparison(options).run()
        let json = try results.json
        try json.keep(at: options.output ?? "\(folder)/compare.json")
        let chart = RatioChart(
            results, base: EngineKind.backstitch.rawValue,
            title: "Time and space as a multiple of Backstitch's",
            note: "Right of 1: Backstitch is better. Medians of \(options.rounds) interleaved "
                + "rounds, \(options.records) records.")
        try Data(chart.svg.utf8).keep(at: options.svg ?? "\(folder)/compare.svg")
        if options.isJSON {
            print(String(decoding: json, as: UTF8.self))
        } else {
            CompareReport(results, options).print()
        }
    }

    /// Where results are kept unless told otherwise, from the repository's folder or from ours.
    private static var folder: String {
        FileManager.default.fileExists(atPath: "Benchmarks/Package.swift")
            ? "Benchmarks/results" : "results"
    }
}
