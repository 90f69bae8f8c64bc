import Backstitch
import Foundation
import Glibc

/// Shows the whole of Backstitch on real data.
struct DemoCommand: Command {
    private static let input = Syntax.Option(
        "input", "FILE", "Reads the package index from a file.")
    private static let hub = Syntax.Option(
        "hub", nil, "Synchronises over HTTP: a hub and two devices, each a process of its own.")
    private static let keep = Syntax.Option(
        "keep", "DIR", "Keeps the stores, in DIR/a, DIR/b and DIR/fresh.")

    let name = "demo"
    let summary = "Shows two devices that edit real data offline, synchronise and survive a crash."
    let syntax = Syntax(
        options: [input, hub, keep, .json],
        notes: """
            The data is the package index of the machine, as 'apt-cache dumpavail' prints it, or a
            file in the same form. Packages are told apart by name, version and architecture. Where
            there is neither, it is the list of countries and some of their subdivisions. Stores
            are made in a temporary folder ($TMPDIR, or /var/tmp) and removed at the end.
            Exit codes: 0 everything was true; 1 a check failed; 2 it could not be run.

            JSON: one object.
              records           the records that were imported
              devices           the devices that edited: 2
              conflicts         how many were settled under serverWins and under clientWins
              converged         whether both devices, the service and a fresh device hold the same
              rebuildIdentical  whether the tables made anew from the logs are identical
              lostOperations    how many operations are not accounted for
              rates             savesPerSecond, pushedPerSecond, pulledPerSecond
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let start = ContinuousClock().now
        let isJSON = arguments.has(.json)
        let tell: (String) -> Void = { line in
            guard !isJSON else { return }
            console.output.line(line)
            console.output.flush()
        }
        let reader = try read(arguments.text(Self.input), console)
        let report: DemoReport
        let failures: [String]
        let folder = try DemoFolder(keep: arguments.text(Self.keep))
        defer { folder.remove() }
        let hub =
            arguments.has(Self.hub) ? try await HubProcess(folder: folder.path + "/hub") : nil
        defer { hub?.stop() }
        let input =
            reader == nil
            ? DemoInput.countries : DemoInput.packages(path: arguments.text(Self.input))
        let cloud: any DemoCloud =
            if let hub { HubDemoCloud(process: hub, input: input) } else { SimulatedDemoCloud() }
        if let reader {
            tell(Self.describe(reader, arguments.text(Self.input)))
            (report, failures) = try await tellStory(
                reader.index.data, cloud, folder, console, tell)
        } else {
            let data = CountryData.data
            tell(
                "There is no package index on this machine: the data is "
                    + "\(data.count.grouped) countries and subdivisions of ISO 3166.")
            (report, failures) = try await tellStory(data, cloud, folder, console, tell)
        }
        let time = ContinuousClock().now - start
        tell("")
        tell("All of it took \(Double(Int(time / .milliseconds(100))) / 10) s.")
        if folder.isKept { tell("The stores are in \(folder.path.printable).") }
        if isJSON {
            console.output.line(try JSON.line(report))
            for failure in failures { console.complain("backstitch demo: " + failure.printable) }
        }
        return failures.isEmpty ? .success : .negative
    }

    private func tellStory<Record: DemoRecord>(
        _ data: DemoData<Record>, _ cloud: any DemoCloud, _ folder: DemoFolder,
        _ console: Console, _ tell: @escaping (String) -> Void
    ) async throws -> (DemoReport, [String]) {
        var story = try await DemoStory(
            data, cloud: cloud, in: folder.path, console: console, tell: tell)
        defer { story.end() }
        try await story.run()
        return (story.report, story.failures)
    }

    // MARK: The data

    /// Reads the index that was asked for; nil if the machine has none.
    private func read(_ path: String?, _ console: Console) throws -> IndexReader? {
        let reader = try DemoInput.read(path, console) { problem in
            console.complain(
                "backstitch demo: line \(problem.line): \(problem.reason); the stanza is left out.")
        }
        if let reader, reader.malformed > IndexReader.reportsMax {
            console.complain(
                "backstitch demo: \((reader.malformed - IndexReader.reportsMax).grouped) more "
                    + "stanzas are left out.")
        }
        return reader
    }

    private static func describe(_ reader: IndexReader, _ path: String?) -> String {
        let source = path?.printable ?? "the package index of this machine"
        var text =
            "The data: \(reader.stanzas.counted("stanza")) of \(source) (\(reader.bytes.asBytes)), "
            + "by name, version and architecture."
        if reader.malformed > 0 { text += " \(reader.malformed.grouped) malformed, left out." }
        if reader.index.repeats > 0 { text += " \(reader.index.repeats.grouped) repeated." }
        return text
    }
}
