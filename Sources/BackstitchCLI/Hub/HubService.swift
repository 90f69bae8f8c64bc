import BackstitchHub
import BackstitchHubPostgreSQL
import CMalloc
import Foundation
import Glibc
import Terminal

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
        // Who closes a terminal means to end what runs in it.
        let reloading = console.isTerminal ? nil : Interruption(signals: [SIGHUP])
        let audit = try settings.openAuditLog(console)
        let access = try settings.accessLog.map {
            try LogFile($0, of: HubCommand.accessLog, console)
        }
        if let audit { configuration.auditLog = { audit.add($0) } }
        if let access { configuration.accessLog = { access.add($0) } }
        let manager = ServiceManager(
            variables: ProcessInfo.processInfo.environment, process: getpid())
        let (hub, temporary) = try await openHub()
        defer {
            hub.close()
            if let temporary { try? FileManager.default.removeItem(atPath: temporary) }
        }
        let server = try HubServer(hub, configuration: configuration)
        if arguments.has(HubCommand.dev) {
            console.output.line(try JSON.line(try await prepare(hub, server)))
        } else if arguments.has(.json) {
            var document = ["url": server.url.absoluteString]
            document["metricsURL"] = server.metricsURL?.absoluteString
            console.output.line(try JSON.line(document))
        } else {
            console.output.line("Listening at \(server.url)")
            if let url = server.metricsURL { console.output.line("Metrics at \(url)") }
        }
        console.output.flush()
        audit?.add(AuditEntry(.started).line)
        manager.tell("READY=1", Self.status(of: server))
        var pulse = ServicePulse(manager)
        while !interruption.hasHappened, !server.hasFailed {
            try? await Task.sleep(nanoseconds: Self.pollNanoseconds)
            await pulse.beat(server)
            if reloading?.takeHasHappened() == true {
                manager.tell("RELOADING=1", "MONOTONIC_USEC=\(ServicePulse.microseconds)")
                reload(server, access, audit)
                manager.tell("READY=1")
            }
        }
        let hasFailed = server.hasFailed
        if hasFailed {
            note(
                "error",
                "A write failed, and it is unknown whether the disk has it. The hub ends with exit code "
                    + "\(ExitCode.startAgain.rawValue). Start it again: it opens its data anew.")
        }
        manager.tell("STOPPING=1")
        await server.stop()
        audit?.add(AuditEntry(.stopped).line)
        return hasFailed ? .startAgain : .success
    }

    /// What the service manager shows.
    fileprivate static func status(of server: HubServer) -> String {
        "STATUS=Listening at \(server.url); \(server.connectionCount.counted("connection"))."
    }

    /// Opens the logs anew, and gives new connections the certificate that is in its file now. What
    /// can't be used is told, and what was there stays.
    private func reload(_ server: HubServer, _ access: LogFile?, _ audit: LogFile?) {
        for log in [access, audit] {
            do { try log?.reopen() } catch { note("error", Failure.describe(error)) }
        }
        guard settings.certificate != nil else { return }
        do {
            let new = try serverConfiguration()
            try server.replaceCertificate(pem: new.certificatePEM ?? "", keyPEM: new.keyPEM ?? "")
            audit?.add(AuditEntry(.certificateReplaced).line)
            note("info", "The certificate was read anew; new connections get it.")
        } catch {
            audit?.add(AuditEntry(.certificateRefused).line)
            note("error", "The old certificate stays. \(Failure.describe(error))")
        }
    }

    /// Writes a line as the hub itself does.
    private func note(_ level: String, _ message: String) {
        struct Line: Encodable {
            let level: String
            let message: String
            let time: Int64
        }
        let time = Int64(Date().timeIntervalSince1970 * 1_000)
        console.complain((try? JSON.line(Line(level: level, message: message, time: time))) ?? "")
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

    /// Where the hub has its data.
    private enum Place {
        case database(PostgreSQLAddress, files: String)
        case folder(String)
        /// Nowhere on disk, which `--dev` allows.
        case memory
    }

    private func place(hasBucket: Bool) throws -> Place {
        if let database = try settings.database() {
            guard let folder = settings.data else {
                throw UsageError("The option --data is missing: the folder of files.")
            }
            return .database(database, files: folder)
        }
        if let folder = settings.data { return .folder(folder) }
        guard !hasBucket else {
            throw UsageError("The option --data is missing: the folder of uploads under way.")
        }
        guard arguments.has(HubCommand.dev) else {
            throw UsageError("The option --data is missing.")
        }
        return .memory
    }

    /// Opens the hub.
    private func openHub() async throws -> (hub: Hub, temporaryFolder: String?) {
        var configuration = HubConfiguration()
        configuration.publicURL = settings.publicURL
        configuration.signInHeader = settings.signInHeader
        configuration.limits = settings.limits
        configuration.limits.privateDatabaseBytes = settings.quota
        configuration.limits.publicDatabaseBytes = settings.publicQuota
        configuration.log = { [console] in console.complain($0) }
        configuration.namesUnknownContainers = arguments.has(HubCommand.dev)
        let store = try settings.fileStore()
        let place = try place(hasBucket: store != nil)
        // It may come back: records go on without it.
        do { try store?.check() } catch { note("error", Failure.describe(error)) }
        switch place {
        case .database(let database, let folder):
            return (
                try await Hub(
                    storage: database, files: folder, in: store, configuration: configuration), nil
            )
        case .folder(let folder):
            return (try await Hub(at: folder, files: store, configuration: configuration), nil)
        case .memory:
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("backstitch-hub-\(UUID().uuidString)").path
            return (
                try await Hub.temporary(assetFolder: folder, configuration: configuration), folder
            )
        }
    }

    private func prepare(_ hub: Hub, _ server: HubServer) async throws -> HubDocument {
        let container = arguments.text(HubCommand.container) ?? "iCloud.backstitch"
        let environment = arguments.text(HubCommand.environment) ?? "development"
        try await hub.accounts.makeContainer(container, environment: environment)
        let token = try await hub.accounts.makeAPIToken(
            container, environment: environment, label: "dev")
        var users: [HubDocument.User] = []
        if arguments.has(HubCommand.user) {
            for name in try HubAction.names(arguments) {
                users.append(
                    HubDocument.User(
                        try await hub.accounts.signIn(
                            name, container: container, environment: environment)))
            }
        }
        return HubDocument(
            url: server.url.absoluteString, metricsURL: server.metricsURL?.absoluteString,
            container: container,
            environment: environment, apiToken: token, users: users)
    }

    private func serverConfiguration() throws -> HubServer.Configuration {
        var configuration = HubServer.Configuration()
        configuration.host = settings.listen.host
        configuration.port = settings.listen.port
        configuration.metricsHost = settings.metricsListen?.host
        configuration.metricsPort = settings.metricsListen?.port ?? 0
        configuration.folder = settings.data.map { URL(filePath: $0) }
        configuration.allowsPlainHTTP = settings.allowsPlainHTTP
        configuration.limits = settings.httpLimits
        configuration.trustedProxies = settings.trustedProxies
        let variables = ProcessInfo.processInfo.environment
        configuration.certificatePEM = try settings.read(settings.certificate, variables)
        configuration.keyPEM = try settings.read(settings.key, variables)
        try settings.located((settings.certificate ?? settings.key)?.option ?? HubCommand.listen) {
            try HubServer.check(configuration)
        }
        return configuration
    }

    // MARK: The check

    private struct CheckDocument: Encodable {
        let url: String
        let metricsURL: String?
        let data: String?
        let holdsHub: Bool
    }

    /// Says what the service would do, and opens nothing for writing.
    private func check() throws -> ExitCode {
        let configuration = try serverConfiguration()
        let store = try settings.fileStore()
        let place = try place(hasBucket: store != nil)
        try store?.check()
        try LogFile.check(settings.accessLog, of: HubCommand.accessLog)
        try LogFile.check(settings.auditLog, of: HubCommand.auditLog)
        let holdsHub = try check(place, hasBucket: store != nil)
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    CheckDocument(
                        url: configuration.url.absoluteString,
                        metricsURL: configuration.metricsURL?.absoluteString,
                        data: settings.data, holdsHub: holdsHub)))
            return .success
        }
        console.output.line("The configuration is good. It would listen at \(configuration.url).")
        if let url = configuration.metricsURL {
            console.output.line("Metrics would be at \(url).")
        }
        switch place {
        case .database(let database, _):
            console.output.line("The database \(database.name) holds a hub.")
        case .folder(let folder):
            console.output.line(
                "'\(folder.printable)' "
                    + (holdsHub ? "holds a hub." : "holds no hub; a new one would be made."))
        case .memory: break
        }
        return .success
    }

    /// Throws the failure that a start would have because of what is stored.
    ///
    /// - Returns: Whether there is a hub.
    private func check(_ place: Place, hasBucket: Bool) throws -> Bool {
        switch place {
        case .database(let database, let folder):
            try database.check(files: folder, hasBucket: hasBucket)
            return true
        case .folder(let folder):
            try HubFolder(folder).check(hasBucket: hasBucket)
            return Hub.isHub(at: folder)
        case .memory: return false
        }
    }
}

/// Says now and then that the service works, once what serves has shown that it does.
private struct ServicePulse {
    /// How often the status is told, in microseconds.
    private static let statusMicroseconds: UInt64 = 30_000_000
    /// The longest that what serves may take, in milliseconds: the end of the process is noticed after it.
    private static let patienceMilliseconds: UInt64 = 5_000

    private let manager: ServiceManager
    private var nextBeat: UInt64
    private var nextStatus: UInt64

    init(_ manager: ServiceManager) {
        self.manager = manager
        nextBeat = Self.microseconds
        nextStatus = Self.microseconds + Self.statusMicroseconds
    }

    mutating func beat(_ server: HubServer) async {
        if let watchdog = manager.watchdogMicroseconds, Self.microseconds >= nextBeat {
            let patience = min(watchdog / 4_000, Self.patienceMilliseconds)
            if await server.isResponsive(within: Int(clamping: patience)) {
                manager.tell("WATCHDOG=1")
                nextBeat = Self.microseconds + watchdog / 3
            }
        }
        guard Self.microseconds >= nextStatus else { return }
        nextStatus = Self.microseconds + Self.statusMicroseconds
        manager.tell(HubService.status(of: server))
    }

    /// The time of the steady clock, as systemd counts it.
    static var microseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
    }
}
