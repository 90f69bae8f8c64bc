import BackstitchHub
import CMalloc
import Foundation

/// A hub that serves until it is told to end.
struct HubService {
    /// How often it looks whether it was told to.
    private static let pollNanoseconds: UInt64 = 100_000_000

    private let settings: HubSettings
    private let arguments: Arguments
    private let console: Console

    init(_ settings: HubSettings, _ arguments: Arguments, _ console: Console) {
        self.settings = settings
        self.arguments = arguments
        self.console = console
    }

    func run() async throws -> ExitCode {
        if arguments.has(HubCommand.checkConfig) { return try check() }
        var configuration = try serverConfiguration()
        fitConnections(&configuration.limits)
        // Large bodies and replies go back to the system at once. Otherwise the C library moves the
        // threshold up with the first of them, and then each thread keeps what it once had. What
        // ordinary requests need stays.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 8 << 20)
        let interruption = Interruption()
        let (hub, temporary) = try await openHub()
        defer {
            hub.close()
            if let temporary { try? FileManager.default.removeItem(atPath: temporary) }
        }
        let server = try HubServer(hub, configuration: configuration)
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

    /// Has as many descriptors as the system gives, and no more connections than those allow.
    private func fitConnections(_ limits: inout HTTPLimits) {
        let wanted = limits.connections
        let descriptors = ProcessDescriptors.raiseLimit()
        limits = limits.fitting(descriptors: descriptors)
        guard limits.connections < wanted else { return }
        console.complain(
            "The system lets the hub have \(descriptors) files open, which is enough for "
                + "\(limits.connections) connections of \(wanted). Raise the limit (ulimit -Hn, or "
                + "LimitNOFILE of systemd).")
    }

    /// Opens the hub; one in memory if there is no folder, which `--dev` allows.
    private func openHub() async throws -> (hub: Hub, temporaryFolder: String?) {
        var configuration = HubConfiguration()
        configuration.publicURL = settings.publicURL
        configuration.limits = settings.limits
        configuration.limits.privateDatabaseBytes = settings.quota
        configuration.limits.publicDatabaseBytes = settings.publicQuota
        configuration.log = { [console] in console.complain($0) }
        if let folder = settings.data {
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
        configuration.host = settings.listen.host
        configuration.port = settings.listen.port
        configuration.allowsPlainHTTP = settings.allowsPlainHTTP
        configuration.limits = settings.httpLimits
        configuration.trustedProxies = settings.trustedProxies
        let credentials = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
        configuration.certificatePEM = try settings.certificate?.read(credentials: credentials)
        configuration.keyPEM = try settings.key?.read(credentials: credentials)
        return configuration
    }

    // MARK: The check

    private struct CheckDocument: Encodable {
        let url: String
        let data: String?
        let holdsHub: Bool
    }

    /// Says what the service would do, and opens nothing for writing.
    private func check() throws -> ExitCode {
        let configuration = try serverConfiguration()
        try HubServer.check(configuration)
        guard settings.data != nil || arguments.has(HubCommand.dev) else {
            throw UsageError("The option --data is missing.")
        }
        let holdsHub = settings.data.map { Hub.isHub(at: $0) } ?? false
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    CheckDocument(
                        url: configuration.url, data: settings.data, holdsHub: holdsHub)))
            return .success
        }
        console.output.line("The configuration is good. It would listen at \(configuration.url).")
        if let data = settings.data {
            console.output.line(
                "'\(data.printable)' "
                    + (holdsHub ? "holds a hub." : "holds no hub; a new one would be made."))
        }
        return .success
    }
}
