import BenchmarkKit
import Foundation
import PeerInterface

/// `backstitch-bench saves`: what single saves take, of time and of the disk.
enum SavesCommand {
    static let name = "saves"
    static let help = """
        saves: many saves, each its own transaction, beside contacts that are there already; and what
        the disk wrote for them, until the store is closed and all is in its place. Nothing else should
        write to that disk

          --saves N        how many; 8192 unless given
          --records N      the contacts that are there before; 100000 unless given
          --rounds N       how often, each time with new stores; 1 unless given
          --engines x,y    as above; backstitch,sqlite-c unless given
          --directory DIR  where the stores are made; the current folder unless given
          --json           writes the figures to the standard output, as a list in JSON
        """

    struct Options {
        var saves = 8_192
        var records = 100_000
        var rounds = 1
        var engines = [EngineKind.backstitch, .sqlite]
        var directory: String?
        var isJSON = false
    }

    static func options(_ arguments: inout Arguments) throws -> Options {
        var options = Options()
        while let word = arguments.next() {
            switch word {
            case "--saves": options.saves = try arguments.number(of: word, from: 1)
            case "--records": options.records = try arguments.number(of: word, from: 1)
            case "--rounds": options.rounds = try arguments.number(of: word, from: 1)
            case "--engines": options.engines = try arguments.names(of: word)
            case "--directory": options.directory = try arguments.value(of: word)
            case "--json": options.isJSON = true
            default: throw Arguments.Mistake(description: "saves does not know \(word).")
            }
        }
        return options
    }

    static func run(_ options: Options) throws {
        let set = ContactSet(Dataset(records: options.records, saves: options.saves, seed: 1))
        var results = Results(engines: options.engines.map(\.rawValue))
        for round in 0..<options.rounds {
            for offset in options.engines.indices {
                let kind = options.engines[(offset + round) % options.engines.count]
                Progress.show("round \(round + 1) of \(options.rounds), \(kind.rawValue)")
                try measure(kind, set, options, &results)
            }
        }
        Progress.clear()
        guard !options.isJSON else {
            print(String(decoding: try results.json, as: UTF8.self))
            return
        }
        var table = TextTable(["each save"] + results.engines)
        for workload in results.workloads {
            let cells = results.engines.map { engine in
                results.summary(workload, engine).map {
                    Figures.text($0.median, unit: results.unit(workload))
                }
            }
            table.add([workload] + cells.map { $0 ?? "–" })
        }
        for line in table.lines { print(line) }
    }

    private static func measure(
        _ kind: EngineKind, _ set: ContactSet, _ options: Options, _ results: inout Results
    ) throws {
        let parent = options.directory ?? FileManager.default.currentDirectoryPath
        let folder = parent + "/backstitch-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { Folder(folder).remove() }
        let engine = try kind.open(folder, set)
        for part in EngineBenchmark.parts(0..<options.records, of: 1_000) {
            try engine.insert(part)
        }
        try engine.settle()
        let before = DiskCounters(ofFolder: folder)
        var times: [Double] = []
        for number in options.records..<options.records + options.saves {
            let start = peer_nanoseconds()
            try engine.saveEach(number..<number + 1)
            times.append(Double(peer_nanoseconds() - start))
        }
        engine.close()
        let after = DiskCounters(ofFolder: folder)
        func note(_ name: String, _ value: Double, _ unit: String = "ns") {
            results.add(value, unit: unit, workload: name, engine: kind.rawValue)
        }
        note("p50", times.percentile(0.5))
        note("p99", times.percentile(0.99))
        note("p99.9", times.percentile(0.999))
        note("longest", times.percentile(1))
        guard let before, let after else {
            Progress.warn("\(folder) is on no disk whose counters can be read.")
            return
        }
        let saves = Double(options.saves)
        note("written", Double(after.writtenBytes - before.writtenBytes) / saves, "bytes")
        note("flushes", Double(after.flushes - before.flushes) / saves, "")
    }
}
