import BackstitchHub
import Foundation

/// A hub that serves until it is told to end.
struct HubService {
    /// How often it looks whether it was told to.
    private static let pollNanoseconds: UInt64 = 100_000_000

    private let arguments: Arguments
    private let console: Console

    init(_ arguments: Arguments, _ console: Console) {
        self.arguments = arguments
        self.console = console
    }

    func run() async throws -> ExitCode {
        let settings = try serverConfiguration()
        let interruption = Interruption()
        let (hub, temporary) = try await openHub()
        defer {
            hub.close()
            if let temporary { try? FileManager.default.removeItem(atPath: temporary) }
        }
        let server = try HubServer(hub, configuration: settings)
        if arguments.has(HubCommand.dev) {
            console.output.line(try JSON.line(try await prepare(hub, url: server.url)))
        } else if arguments.has(.json) {
            console.output.line(try JSON.line(["url": server.url]))
        } else {
            console.output.line("Listening at \(server.url)")
        }
        console.output.flush()
        while !interruption.hasHappened {
            try? await Task.sleep(nanoseconds: Self.pollNanoseconds)
        }
        await server.stop()
        return .success
    }

    /// Opens the hub; one in memory where there is no folder, which `--dev` allows.
    private func openHub() async throws -> (hub: Hub, temporaryFolder: String?) {
        var configuration = HubConfiguration()
        configuration.publicURL = arguments.text(HubCommand.publicURL)
        configuration.limits.privateDatabaseBytes = try arguments.number(HubCommand.quota)
        configuration.limits.publicDatabaseBytes = try arguments.number(HubCommand.publicQuota)
        configuration.log = { [console] in console.complain($0) }
        if let folder = arguments.text(HubCommand.data) {
            return (try await Hub(at: folder, configuration: configuration), nil)
        }
        guard arguments.has(HubCommand.dev) else {
            throw UsageError("The option --data is missing.")
        }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("backstitch-hub-\(UUID().uuidString)").path
        return (
            try await Hub.temporary(assetFolder: folder, configuration: configuration), folder
        )
    }

    private func prepare(_ hub: Hub, url: String) async throws -> HubDocument {
        let container = arguments.text(HubCommand.container) ?? "iCloud.backstitch"
        let environment = arguments.text(HubCommand.environment) ?? "development"
        try await hub.makeContainer(container, environment: environment)
        let token = try await hub.makeAPIToken(container, environment: environment, label: "dev")
        var users: [HubDocument.User] = []
        if arguments.has(HubCommand.user) {
            for name in try HubAction.names(arguments) {
                users.append(
                    HubDocument.User(
                        try await hub.signIn(
                            name, container: container, environment: environment)))
            }
        }
        return HubDocument(
            url: url, container: container, environment: environment, apiToken: token,
            users: users)
    }

    private func serverConfiguration() throws -> HubServer.Configuration {
        var configuration = HubServer.Configuration()
        let text = arguments.text(HubCommand.listen) ?? "127.0.0.1:8480"
        guard let (host, port) = Self.address(text) else {
            throw UsageError(
                "The option --listen takes HOST:PORT, such as 127.0.0.1:8480, and not "
                    + "'\(text.printable)'.")
        }
        configuration.host = host
        configuration.port = port
        configuration.allowsPlainHTTP = arguments.has(HubCommand.plain)
        configuration.trustedProxies = arguments.texts(HubCommand.proxy)
        configuration.certificatePEM = try file(HubCommand.certificate)
        configuration.keyPEM = try file(HubCommand.key)
        return configuration
    }

    private func file(_ option: Syntax.Option) throws -> String? {
        try arguments.text(option).map { try String(contentsOfFile: $0, encoding: .utf8) }
    }

    /// Host and port of a text; the host of an address of version 6 stands in brackets.
    static func address(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        return (String(host), port)
    }
}
