import BenchmarkKit
import Foundation

/// All engines side by side: in each round every part of the workload is done by one engine after
/// the other, and the order of the engines changes from part to part and from round to round.
struct Comparison {
    let options: CompareOptions
    private let set: ContactSet
    private let foldSet: ContactSet
    private let questions: Questions
    private let folder: String

    init(_ options: CompareOptions) throws {
        self.options = options
        Progress.show("making \(options.records) contacts")
        set = ContactSet(
            Dataset(records: options.records, saves: options.saves, seed: options.seed))
        foldSet = ContactSet(
            Dataset(records: options.records / 2, saves: 0, seed: options.seed + 1))
        questions = Questions(set.data, seed: options.seed + 2)
        if let group = options.controlGroup { try Self.enter(group) }
        let parent = options.directory ?? FileManager.default.currentDirectoryPath
        folder = parent + "/backstitch-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        if Folder(folder).isInMemory {
            Progress.warn(
                "\(folder) is in memory, so that no sync costs anything. Give --directory on a "
                    + "disk.")
        }
    }

    /// Goes into a control group. What memory the process has stays charged to the group it had before.
    private static func enter(_ group: String) throws {
        do {
            let file = try FileHandle(forWritingTo: URL(filePath: group + "/cgroup.procs"))
            try file.write(contentsOf: Data("0\n".utf8))
            try file.close()
        } catch {
            throw EngineFailure(
                description: "The process can't go into the control group \(group): "
                    + "\(error.localizedDescription) Give the folder of one that it may write to.")
        }
    }

    func run() async throws -> Results {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var results = Results(engines: options.engines.map(\.rawValue))
        for round in 0..<options.rounds {
            try await run(round, &results)
        }
        return results
    }

    private func run(_ round: Int, _ results: inout Results) async throws {
        var runs: [EngineRun] = []
        for kind in options.engines {
            runs.append(
                try EngineRun(
                    kind, in: "\(folder)/\(round)-\(kind.rawValue)", set, folding: foldSet,
                    questions, options))
        }
        for (index, workload) in Workload.allCases.enumerated() {
            let isMeasured = options.workloads.contains(workload)
            for offset in runs.indices {
                let run = runs[(offset + index + round) % runs.count]
                guard isMeasured else {
                    try run.skip(workload)
                    continue
                }
                Progress.show(
                    "round \(round + 1) of \(options.rounds), \(workload.rawValue), "
                        + run.kind.rawValue)
                for sample in try await run.perform(workload) {
                    results.add(
                        sample.value, unit: sample.unit, workload: sample.workload,
                        engine: run.kind.rawValue)
                }
            }
        }
        for run in runs { try run.end() }
        Progress.clear()
    }
}
