import BackstitchDemo
import Terminal

/// Shows the whole of Backstitch on real data.
struct DemoCommand: Command {
    private static let input = Syntax.Option(
        "input", "FILE", "Reads the package index from a file.")
    private static let hub = Syntax.Option(
        "hub", nil, "Synchronises over HTTP: a hub and two devices, each a process of its own.")
    private static let assets = Syntax.Option(
        "assets", nil, "Synchronises files of this machine instead, one upload of which is cut.")
    private static let keep = Syntax.Option(
        "keep", "DIR", "Keeps the stores, in DIR/a, DIR/b and DIR/fresh.")

    let name = "demo"
    let summary = "Shows two devices that edit real data offline, synchronise and survive a crash."
    let syntax = Syntax(
        options: [input, hub, assets, keep, .json],
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

            JSON with --assets: one object.
              assets            the distinct files, of /usr/share
              bytes             the bytes of their contents
              resumed           the uploads that were cut and gone on with
              bytesSent         the bytes of the bodies of all uploads
              hashMismatches    the files that came out as other bytes than went in
              orphans           the files that are left although nothing holds them
              converged         whether both devices hold the same records and files
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let start = ContinuousClock().now
        let isJSON = arguments.has(.json)
        let tell: (String) -> Void = { line in
            guard !isJSON else { return }
            console.output.line(line)
            console.output.flush()
        }
        if arguments.has(Self.assets) { return try await runAssets(arguments, console, tell) }
        let demo = try Demo(input: arguments.text(Self.input), console, tell: tell)
        let folder = try DemoFolder(keep: arguments.text(Self.keep))
        defer { folder.remove() }
        let device = arguments.has(Self.hub) ? DemoDeviceCommand.start : nil
        let (report, failures) = try await demo.run(in: folder.path, device: device)
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

    private func runAssets(
        _ arguments: Arguments, _ console: Console, _ tell: @escaping (String) -> Void
    ) async throws -> ExitCode {
        if arguments.has(Self.input) {
            throw UsageError("The options --assets and --input exclude one another.")
        }
        let folder = try DemoFolder(keep: arguments.text(Self.keep))
        defer { folder.remove() }
        let (report, failures) = try await AssetDemo(tell: tell).run(
            in: folder.path, usesHub: arguments.has(Self.hub))
        if arguments.has(.json) {
            console.output.line(try JSON.line(report))
        } else {
            tell(failures.isEmpty ? "Everything was true." : "Something was wrong.")
        }
        for failure in failures { console.complain("backstitch demo: " + failure.printable) }
        return failures.isEmpty ? .success : .negative
    }
}
