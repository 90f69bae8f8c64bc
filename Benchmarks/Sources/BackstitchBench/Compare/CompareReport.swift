import BenchmarkKit

/// The results of a comparison as text.
struct CompareReport {
    private let results: Results
    private let options: CompareOptions

    init(_ results: Results, _ options: CompareOptions) {
        self.results = results
        self.options = options
    }

    func print() {
        Swift.print(
            "\(options.records) records, \(options.rounds) interleaved rounds: median (min to max)")
        show(figures)
        Swift.print("\nas a multiple of backstitch; above 1 backstitch is better")
        show(ratios)
        Swift.print("\nwhat is on disk when a commit returns")
        for kind in options.engines { Swift.print("  \(kind.rawValue): \(kind.durability)") }
        Swift.print("\nwhat the letters mean")
        for workload in Workload.allCases where results.workloads.contains(workload.rawValue) {
            Swift.print("  \(workload.rawValue): \(workload.title)")
        }
    }

    private func show(_ table: TextTable) {
        for line in table.lines { Swift.print(line) }
    }

    private var figures: TextTable {
        var table = TextTable([""] + results.engines)
        for workload in results.workloads {
            let unit = results.unit(workload)
            table.add(
                [workload]
                    + results.engines.map { engine in
                        guard let summary = results.summary(workload, engine) else { return "" }
                        let middle = Figures.text(summary.median, unit: unit)
                        if options.rounds == 1 { return middle }
                        let (low, high) = (
                            Figures.text(summary.min, unit: unit),
                            Figures.text(summary.max, unit: unit)
                        )
                        return low == high ? middle : "\(middle) (\(low) to \(high))"
                    })
        }
        return table
    }

    private var ratios: TextTable {
        let base = EngineKind.backstitch.rawValue
        let others = results.engines.filter { $0 != base }
        var table = TextTable([""] + others)
        for workload in results.workloads {
            table.add(
                [workload]
                    + others.map { Figures.ratio(results.ratio(workload, $0, to: base)) })
        }
        return table
    }
}
