import BackstitchDemo
import CloudKitRecordService
import Terminal

/// A device of the demo in a process of its own: takes orders as lines of JSON, until there are no more.
struct DemoDeviceCommand: Command {
    static let commandName = "demo-device"

    private static let author = Syntax.Option("name", "NAME", "The device's name.")
    private static let input = Syntax.Option(
        "input", "FILE", "The package index; the machine's unless given.")
    private static let countries = Syntax.Option(
        "countries", nil, "Saves countries, and no packages.")

    let name = commandName
    let summary = "Is a device of the demo, which tells it what to do."
    let syntax = Syntax(
        operands: [.store], options: ServiceOptions.all + [author, input, countries])

    /// What this program is started with to be a device that synchronises with a hub.
    static func start(
        name: String, store: String, _ data: DemoInput, _ hub: StartedHub
    ) throws -> (arguments: [String], variables: [String: String]) {
        let source =
            switch data {
            case .packages(let path): path.map { ["--" + input.name, $0] } ?? []
            case .countries: ["--" + countries.name]
            }
        return (
            [commandName, store, "--" + author.name, name] + source + [
                "--url", hub.url, "--container", hub.container, "--environment", hub.environment,
            ],
            // So that no list of processes shows them.
            [
                ServiceOptions.apiTokenVariable: hub.apiToken,
                ServiceOptions.webTokenVariable: try hub.webAuthToken,
            ]
        )
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let device = DemoDeviceServer(
            arguments.text(Self.author) ?? name, at: arguments.operands[0],
            service: try ServiceOptions.service(arguments), console, describe: Failure.describe)
        try await device.run(
            arguments.has(Self.countries)
                ? .countries : .packages(path: arguments.text(Self.input)))
        return .success
    }
}
