import BackstitchHub
import CMalloc
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
        var settings = try serverConfiguration()
        fitConnections(&settings.limits)
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
        configuration.publicURL = arguments.text(HubCommand.publicURL)
        (configuration.limits, _) = try limits()
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
        (_, configuration.limits) = try limits()
        configuration.trustedProxies = arguments.texts(HubCommand.proxy)
        configuration.certificatePEM = try file(HubCommand.certificate)
        configuration.keyPEM = try file(HubCommand.key)
        return configuration
    }

    /// The bounds, with those that were given another value.
    private func limits() throws(UsageError) -> (HubLimits, HTTPLimits) {
        var (hub, http) = (HubLimits(), HTTPLimits())
        for text in arguments.texts(HubCommand.limit) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bound = parts.first.flatMap({ HubBound.named(String($0)) }) else {
                throw UsageError(
                    "There is no bound '\(text.printable)'. Give one of: "
                        + HubBound.all.map(\.name).joined(separator: ", ") + ".")
            }
            guard parts.count == 2, let value = Int(parts[1]), (1...Int(Int32.max)).contains(value)
            else {
                throw UsageError(
                    "The bound \(bound.name) takes a whole number from 1 to \(Int32.max), as in "
                        + "\(bound.name)=\(bound.standard).")
            }
            bound.set(value, in: &hub, &http)
        }
        return (hub, http)
    }

    private func file(_ option: Syntax.Option) throws -> String? {
        try arguments.text(option).map { try InputFile.text($0, of: option) }
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
