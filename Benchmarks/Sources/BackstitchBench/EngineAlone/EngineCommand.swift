import BenchmarkKit
import Foundation

/// `backstitch-bench engine`.
enum EngineCommand {
    static let help = """
        engine: Backstitch against itself

          --only x,y       append,group,rebuild,index,live,observed,processes,changes,open,sync,
                           projections,scale,waiting,text,queries,hub
          --operations N   the length of the longest log; 100000 unless given, 5000000 at most
          --directory DIR  where the store is made; the current folder unless given
          --backstitch PROGRAM  runs the hub; without it there are no figures of one
          --text FILE      descriptions of Debian's packages (Translation-en) to search, beside FTS5;
                           those of this machine unless given, and generated ones for what is missing
          --json           writes the figures to the standard output, as a list in JSON
          --output FILE    keeps the same list in a file
        """

    private static let operationsMax = 5_000_000

    static func options(_ arguments: inout Arguments) throws -> EngineBenchmark.Options {
        var options = EngineBenchmark.Options()
        while let word = arguments.next() {
            switch word {
            case "--only": options.parts = try arguments.names(of: word)
            case "--operations":
                options.operations = try arguments.number(of: word, from: 1_000)
                guard options.operations <= operationsMax else {
                    throw Arguments.Mistake(
                        description: "\(word) takes \(operationsMax) at most.")
                }
            case "--backstitch": options.program = try arguments.value(of: word)
            case "--directory": options.directory = try arguments.value(of: word)
            case "--text": options.text = try arguments.value(of: word)
            case "--json": options.isJSON = true
            case "--output": options.output = try arguments.value(of: word)
            default: throw Arguments.Mistake(description: "engine does not know \(word).")
            }
        }
        return options
    }

    static func run(_ options: EngineBenchmark.Options) async throws {
        var benchmark = EngineBenchmark(options)
        let results = try await benchmark.run()
        let json = try results.json
        if let output = options.output { try json.keep(at: output) }
        guard !options.isJSON else {
            print(String(decoding: json, as: UTF8.self))
            return
        }
        var table = TextTable(["", "backstitch"])
        for measurement in results.measurements {
            table.add([
                measurement.workload, Figures.text(measurement.median, unit: measurement.unit),
            ])
        }
        for line in table.lines { print(line) }
        print(
            """

            append, group: each operation. live, process, courier: from the call of save. changes: each
            record. hub: a device pushes, another pulls, over HTTP.
            open-N, heap-N: a store with N unsynced operations; anonymous: memory in no file.
            pending-N: the longest of 20 counts of N unsynced operations; push-large: 1,000 records of
            900,000 bytes; wait: the longest save of one record beside other work. get, scan: processor
            time with no record of the journal, and with those of 500 saves waiting. text: each document,
            and each search for the best 20, which are read; fts5 is SQLite's. related, compound: a query
            whose records are read, beside SQLite's; text-equal, -prefix, -order: with case and accents,
            and without.
            """)
    }
}
