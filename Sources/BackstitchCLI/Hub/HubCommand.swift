import BackstitchHub
import BackstitchHubPostgreSQL
import Foundation
import Glibc
import Terminal

/// Serves records to devices, and manages who may use them.
struct HubCommand: Command {
    static let listen = Syntax.Option(
        "listen", "HOST:PORT", "Where to listen; 127.0.0.1:8480 unless given, port 0 picks one.")
    static let metricsListen = Syntax.Option(
        "metrics-listen", "HOST:PORT", "Where /ready and /metrics are instead, without encryption.")
    static let accessLog = Syntax.Option(
        "access-log", "FILE", "A JSON line for each request, without secrets; - is standard error.")
    static let auditLog = Syntax.Option(
        "audit-log", "FILE", "A JSON line for each failed sign-in and each change of credentials.")
    static let data = Syntax.Option("data", "DIR", "The folder that holds everything.")
    static let storage = Syntax.Option(
        "storage", "ADDRESS", "A PostgreSQL database that keeps the records; DIR keeps files.")
    static let storagePassword = Syntax.Option(
        "storage-password", "FILE", "The password of the database's role, in a file.")
    static let bucket = Syntax.Option(
        "bucket", "URL", "An S3-compatible bucket for files: https://HOST/BUCKET[/PREFIX].")
    static let bucketRegion = Syntax.Option(
        "bucket-region", "NAME", "The bucket's region; us-east-1 unless given.")
    static let bucketKey = Syntax.Option(
        "bucket-key", "FILE", "The access key in one line, and its secret in the next one.")
    static let bucketCA = Syntax.Option(
        "bucket-ca", "FILE", "Authorities in PEM that the bucket's certificate comes from.")
    static let container = Syntax.Option(
        "container", "NAME", "The container; iCloud.backstitch unless given.")
    static let environment = Syntax.Option(
        "environment", "NAME", "development or production; development unless given.")
    static let certificate = Syntax.Option(
        "tls-cert", "FILE", "The certificate chain in PEM, for HTTPS.")
    static let key = Syntax.Option("tls-key", "FILE", "The certificate's key in PEM.")
    static let plain = Syntax.Option(
        "allow-plain-http", nil, "Serves other machines without encryption, behind a proxy.")
    static let proxy = Syntax.Option(
        "trusted-proxy", "ADDRESS",
        "Proxies, such as 10.0.0.0/8, whose X-Forwarded-For counts; repeatable.",
        isRepeatable: true)
    static let publicURL = Syntax.Option(
        "public-url", "URL", "Where clients reach the hub, if not where it listens.")
    static let quota = Syntax.Option(
        "quota", "BYTES", "The most bytes of each user's private database; no limit unless given.")
    static let publicQuota = Syntax.Option(
        "public-quota", "BYTES", "The most bytes of the public database; no limit unless given.")
    static let limit = Syntax.Option(
        "limit", "NAME=NUMBER", "Another value for a bound of BOUNDS.md; repeatable.",
        isRepeatable: true)
    static let config = Syntax.Option(
        "config", "FILE", "An INI file whose keys are the service's options; options come first.")
    static let checkConfig = Syntax.Option(
        "check-config", nil, "Says what serve would do, or what is wrong, and starts nothing.")
    static let dev = Syntax.Option(
        "dev", nil, "Makes what is missing, and writes the credentials as one line of JSON.")
    static let user = Syntax.Option(
        "user", "NAME", "A user; may be given several times.", isRepeatable: true)
    static let label = Syntax.Option("label", "TEXT", "What a credential is for.")
    static let publicKey = Syntax.Option("public-key", "FILE", "A server's public key in PEM.")
    static let secret = Syntax.Option(
        "secret", "TEXT", "The credential to revoke; - reads it from standard input.")
    static let id = Syntax.Option(
        "id", "ID", "A session, API token or server key, by the id that its list has.")
    static let newName = Syntax.Option("to", "NAME", "The new name of a user or container.")
    static let email = Syntax.Option(
        "email", "ADDRESS", "By what others find a user who is discoverable; empty for none.")
    static let discoverable = Syntax.Option(
        "discoverable", "yes|no", "Whether others get a user's name and find the user.")
    static let passwordFile = Syntax.Option(
        "password-file", "FILE",
        "A user's password; - is standard input, an empty one takes it away.")
    static let origin = Syntax.Option(
        "origin", "URL",
        "A web page (https://app.example.com) that signs people in; repeatable.",
        isRepeatable: true)
    static let callback = Syntax.Option(
        "callback", "URL", "Where users are sent with the token after sign-in; empty for none.")
    static let signInHeader = Syntax.Option(
        "sign-in-header", "NAME", "The header in which a trusted proxy names whom it signed in.")
    static let backup = Syntax.Option("backup", "DIR", "The folder of a backup.")
    static let sessionDays = Syntax.Option(
        "session-days", "DAYS", "How long a session goes on that is not used; 14 unless given.")

    let name = "hub"
    let summary = "Serves records to devices, by the protocol of CloudKit Web Services."
    let syntax = Syntax(
        optionalOperands: [
            Syntax.Operand(
                name: "ACTION",
                summary: "What to do, as below; serve unless given.",
                choices: HubAction.allCases.map(\.rawValue)),
            Syntax.Operand(
                name: "VERB",
                summary: "list, add, rename, change, remove and others, after a plural.",
                choices: HubManaging.Verb.allCases.map(\.rawValue)),
        ],
        options: [config, checkConfig] + HubSetting.all.map(\.option)
            + [container, environment, dev, user, newName, email, discoverable, label, publicKey]
            + [passwordFile, origin, callback, secret, id, backup, .json],
        notes: """
            Actions:
              serve   listens until SIGTERM or SIGINT, then answers what is under way and ends; SIGHUP
                      has it read the certificate and open its logs anew
              token   makes an API token for the container and writes it
              user    makes the user named by --user if missing, signs in, and writes JSON
              key     takes a server's public key (--public-key) and writes the key's id
              revoke  makes the credential given by --secret or --id stop working
              epoch   makes all change tokens invalid, after the folder was restored from a backup
              users, sessions, tokens, keys, containers
                      with a VERB: list (of all containers, or of --container), add, rename, remove;
                      users rename --user NAME --to NAME, users change --email or --discoverable,
                      users password --user NAME --password-file FILE, users code --user NAME (writes a
                      code that signs in once), for the page that a client without a session is sent to;
                      tokens or keys rename --id ID --label TEXT, sessions remove --id or --user;
                      tokens add or change --origin and --callback: to which web pages that page hands
                      the token of who signs in;
                      to remove a user or a container erases all that it has, with its files
              backup  copies the hub's folder (--data) with its files to --backup, where nothing is,
                      while a hub serves it; the copy appears when it is verified and on disk
              restore makes the folder --data, where nothing is, of --backup, and begins an epoch
              doctor, verify
                      look at all rows of --data, or of --backup, and whether its files are there;
                      with --storage at those of the database; verify reads the files too; exit code 1
                      if something is wrong
              migrate makes the tables of a hub in the database of --storage, unless they are there,
                      and says nothing
            A file (--config) has sections, and a line 'KEY = VALUE' for an option without its dashes:
            \(HubSetting.sections)
            What can be repeated has a line each, and what takes no value says yes or no. Of a systemd
            service, credential:NAME is the file that LoadCredential= names so. Other actions than serve
            take --data from the file too.

            With --storage hubs share the database, and may share DIR; 'migrate' makes its tables first. The
            address is a URI (postgresql://ROLE@HOST/DATABASE) or libpq's keywords, without a password.

            With --bucket new files go there, and DIR has uploads under way, and files from before. Without
            --bucket-key the credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Give it to
            all actions but restore: backup, doctor and verify fetch or look for what is in the bucket.

            Secrets are told once; the hub keeps their SHA-256. /healthz says that it runs, /ready that it
            can write, /metrics what it did. A service manager that gives NOTIFY_SOCKET and WATCHDOG_USEC
            is told how it does.

            Exit codes: 0 done, of serve that it was told to end; 1 something is wrong; 2 not done;
            75, of serve alone: a write failed, and it is unknown whether the disk has it. Start the
            hub again.

            JSON: one object, on one line.
              serve   url, once the hub listens; metricsURL with --metrics-listen; with --dev also
                      container, environment, apiToken, and users with the name, userRecordName
                      and webAuthToken of each
                      with --check-config url, metricsURL, data, holdsHub (false: a new one would be made)
              token   apiToken
              user    name, userRecordName, webAuthToken; with --json or without
              key     keyID
              users, sessions, tokens, keys, containers
                      list: an array by that name; a user has name, userRecordName, emailAddress,
                      discoverable, erased; a credential id, label, user, userRecordName, created,
                      used, ends, origins, callback; all have container and environment; used is
                      noted about once a day, and missing as long as a session was not used after its
                      first days; to remove a user or container: userRecordName, sessions, databases,
                      entries
              backup, restore
                      data, backup, rows, records, files, bytes
              doctor, verify
                      as of the command doctor
              migrate migrated (false: the tables were there)
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let action = arguments.operands.first ?? "serve"
        guard let action = HubAction(rawValue: action) else {
            throw UsageError("There is no action '\(action.printable)'.")
        }
        let settings = try HubSettings(arguments)
        if let folder = settings.data, try settings.database() == nil {
            // Before a log or anything else is written.
            try HubFolder(folder).refuseOthers()
        }
        if action == .serve { return try await HubService(settings, arguments, console).run() }
        let database = try settings.database()
        let store = try settings.fileStore()
        if let database {
            if action == .migrate { return try HubMigrating.run(database, arguments, console) }
            guard ![.restore, .backup].contains(action) else {
                throw UsageError(
                    "\(action.rawValue) works with a hub's folder. Use the tools of the database.")
            }
        } else if action == .migrate {
            throw UsageError(
                "The option --storage is missing: the database to make the tables of a hub in.")
        }
        if action == .doctor || action == .verify {
            if let database, arguments.text(Self.backup) == nil {
                guard let folder = settings.data else {
                    throw UsageError("The option --data is missing: the folder of the files.")
                }
                return try HubDoctor.run(
                    database, files: folder, in: store, readsFiles: action == .verify, arguments,
                    console)
            }
            guard let folder = arguments.text(Self.backup) ?? settings.data else {
                throw UsageError("The option --data is missing, or --backup.")
            }
            // A backup has all files itself.
            return try HubDoctor.run(
                folder, files: arguments.has(Self.backup) ? nil : store,
                readsFiles: action == .verify, arguments, console)
        }
        guard let folder = settings.data else { throw UsageError("The option --data is missing.") }
        if action == .restore {
            return try HubCopying.copy(folder, action, files: nil, arguments, console)
        }
        if database == nil, !FileManager.default.fileExists(atPath: folder + "/data.mdb") {
            // A misspelt folder must not become a hub whose credentials open nothing.
            guard action.makesCredentials || HubManaging.adds(arguments) else {
                throw UsageError("There is no hub in '\(folder.printable)'. Check --data.")
            }
            console.complain(
                "There was no hub in '\(folder.printable)'; a new one is made. Check --data if this "
                    + "is a surprise.")
        }
        if action == .backup {
            return try HubCopying.copy(folder, action, files: store, arguments, console)
        }
        let audit = try settings.openAuditLog(console)
        var configuration = HubConfiguration()
        configuration.limits = settings.limits
        let hub =
            if let database {
                try await Hub(
                    storage: database, files: folder, in: store, configuration: configuration)
            } else {
                try await Hub(at: folder, files: store, configuration: configuration)
            }
        defer { hub.close() }
        return try await action.run(hub, arguments, audit, console)
    }
}

extension HubCommand {
    /// The help of an action: the parts of ``syntax``'s notes that name it.
    func partialHelp(_ words: [String]) -> String? {
        guard let action = words.lazy.compactMap({ HubAction(rawValue: $0) }).first else {
            return nil
        }
        let sections = syntax.notes.components(separatedBy: "\n\n")
        let about = sections.flatMap { Self.lines(of: $0, about: action) }
        return """
            Usage: \(About.name) \(name) \(action.rawValue) [OPTIONS]

            \(about.joined(separator: "\n"))

            '\(About.name) \(name) --help' lists the options and the other actions.
            """
    }

    /// The lines about an action in a section that begins with 'Actions:' or 'JSON:', with that title; none
    /// in another section.
    private static func lines(of section: String, about action: HubAction) -> [String] {
        let lines = section.components(separatedBy: "\n")
        guard let title = lines.first, title == "Actions:" || title.hasPrefix("JSON:") else {
            return []
        }
        var (found, isAbout) = ([String](), false)
        for line in lines.dropFirst() {
            guard line.hasPrefix("  ") else { break }
            // An entry is indented by two blanks, and begins with the names of its actions.
            if !line.hasPrefix("   ") {
                let names = line.split { $0 == " " || $0 == "," }
                    .prefix { HubAction(rawValue: String($0)) != nil }
                isAbout = names.contains { $0 == action.rawValue }
            }
            if isAbout { found.append(line) }
        }
        return found.isEmpty ? [] : (title == "Actions:" ? [] : [title]) + found
    }
}

/// What the command does beside serving.
enum HubAction: String, CaseIterable {
    case serve
    case token
    case user
    case key
    case revoke
    case epoch
    case migrate
    case users
    case sessions
    case tokens
    case keys
    case containers
    case backup
    case restore
    case verify
    case doctor

    func run(
        _ hub: Hub, _ arguments: Arguments, _ audit: LogFile?, _ console: Console
    ) async throws -> ExitCode {
        let container = arguments.text(HubCommand.container) ?? "iCloud.backstitch"
        let environment = arguments.text(HubCommand.environment) ?? "development"
        let label = arguments.text(HubCommand.label) ?? ""
        func note(_ event: AuditEntry.Event, user: String? = nil) {
            audit?.add(
                AuditEntry(event, container: container, environment: environment, user: user).line)
        }
        let managing = HubManaging(
            hub: hub, arguments: arguments, audit: audit, console: console)
        switch self {
        case .serve, .migrate, .backup, .restore, .verify, .doctor: break
        case .users: return try await managing.users()
        case .sessions: return try await managing.sessions()
        case .tokens: return try await managing.credentials(.apiToken)
        case .keys: return try await managing.credentials(.serverKey)
        case .containers: return try await managing.containers()
        case .token:
            try await hub.accounts.makeContainer(container, environment: environment)
            try managing.checkPages()
            let token = try await hub.accounts.makeAPIToken(
                container, environment: environment, label: label)
            try await managing.setPages(ofNew: token)
            note(.tokenMade)
            try Self.tell(token, as: "apiToken", arguments, console)
        case .user:
            try await hub.accounts.makeContainer(container, environment: environment)
            for name in try Self.names(arguments) {
                let user = try await hub.accounts.signIn(
                    name, container: container, environment: environment)
                note(.userSignedIn, user: user.userRecordName)
                console.output.line(try JSON.line(HubDocument.User(user)))
            }
        case .key:
            guard let path = arguments.text(HubCommand.publicKey) else {
                throw UsageError("The option --public-key is missing.")
            }
            try await hub.accounts.makeContainer(container, environment: environment)
            let pem = try InputFile.text(path, of: HubCommand.publicKey)
            let id = try await hub.accounts.addServerKey(
                pem, container: container, environment: environment, label: label)
            note(.keyAdded)
            try Self.tell(id, as: "keyID", arguments, console)
        case .revoke:
            guard let secret = arguments.text(HubCommand.secret) else {
                guard let id = arguments.text(HubCommand.id) else {
                    throw UsageError("The option --secret is missing, or --id.")
                }
                return try await managing.revoke(
                    id: id, of: HubAccounts.Credential.Kind.allCases)
            }
            let isRevoked = try await hub.accounts.revoke(
                secret == "-" ? Self.readSecret() : secret)
            if isRevoked { audit?.add(AuditEntry(.credentialRevoked).line) }
            if !isRevoked { console.complain("backstitch hub: There is no such credential.") }
            return isRevoked ? .success : .negative
        case .epoch:
            try await hub.beginEpoch()
            audit?.add(AuditEntry(.epochBegun).line)
        }
        return .success
    }

    /// Whether the action makes something that a new hub can have.
    var makesCredentials: Bool { self == .token || self == .user || self == .key }

    /// A line of standard input, which other users of the machine don't see as they see arguments.
    private static func readSecret() throws -> String {
        let input = try InputFile("-")
        var bytes: [UInt8] = []
        while bytes.count < 4_096, let part = try input.next() { bytes += part }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func tell(
        _ value: String, as key: String, _ arguments: Arguments, _ console: Console
    ) throws {
        let isJSON = arguments.has(.json)
        console.output.line(isJSON ? try JSON.line([key: value]) : value)
    }

    /// The users that the arguments name.
    static func names(_ arguments: Arguments) throws(UsageError) -> [String] {
        let names = arguments.texts(HubCommand.user)
        guard !names.isEmpty else { throw UsageError("The option --user is missing.") }
        return names
    }
}
