import BackstitchHub
import BackstitchHubBucket
import BackstitchHubPostgreSQL
import Foundation
import Terminal

/// What the service of a hub is told, by the options of its command and by the keys of a file.
struct HubSettings {
    /// Where a socket listens.
    struct Address: Equatable {
        var host: String
        var port: UInt16
    }

    var listen = Address(host: "127.0.0.1", port: 8480)
    var metricsListen: Address?
    var allowsPlainHTTP = false
    var trustedProxies: [String] = []
    var publicURL: URL?
    var signInHeader: String?
    var certificate: SettingFile?
    var key: SettingFile?
    var data: String?
    var storage: String?
    var storagePassword: SettingFile?
    var bucket: String?
    var bucketRegion: String?
    var bucketKey: SettingFile?
    var bucketCA: String?
    var accessLog: String?
    var auditLog: String?
    var quota: Int64?
    var publicQuota: Int64?
    var limits = HubLimits()
    var httpLimits = HTTPLimits()
    /// Where the file has the keys that count, as `FILE:LINE`.
    private var places: [String: String] = [:]
}

/// A file that a setting names.
struct SettingFile {
    /// Names a file of `$CREDENTIALS_DIRECTORY`, where systemd puts what `LoadCredential=` names.
    static let credential = "credential:"

    let text: String
    let option: Syntax.Option

    /// The contents, as text.
    ///
    /// - Parameter credentials: The folder of credentials that the process was given, if any.
    func read(credentials: String?) throws -> String {
        guard text.hasPrefix(Self.credential) else { return try InputFile.text(text, of: option) }
        let name = text.dropFirst(Self.credential.count)
        guard let credentials else {
            throw Refusal(
                "'\(text.printable)' is a credential of a systemd service, and there are none: "
                    + "$CREDENTIALS_DIRECTORY is not set. Name a file, or start the service with "
                    + "LoadCredential=\(name.printable):FILE. Check --\(option.name).")
        }
        return try InputFile.text(credentials + "/" + name, of: option)
    }
}

/// A row of the table of settings: an option of `hub serve`, which is a key of its file too.
struct HubSetting: Sendable {
    /// Thrown for a value that a setting does not take; the message says what it takes.
    struct BadValue: Error {
        let message: String
    }

    /// What the value is.
    enum Kind {
        /// A path, absolute in a file, because a service runs in another folder than its writer.
        case path
        case other
    }

    /// The section of the file.
    let section: String
    let option: Syntax.Option
    let kind: Kind
    let set: @Sendable (inout HubSettings, String) throws -> Void

    private init(
        _ section: String, _ option: Syntax.Option, _ kind: Kind = .other,
        _ set: @escaping @Sendable (inout HubSettings, String) throws -> Void
    ) {
        self.section = section
        self.option = option
        self.kind = kind
        self.set = set
    }

    /// All of them, in the order of the help.
    static let all: [HubSetting] = [
        HubSetting("server", HubCommand.listen) { $0.listen = try address($1) },
        HubSetting("server", HubCommand.metricsListen) { $0.metricsListen = try address($1) },
        HubSetting("server", HubCommand.plain) { $0.allowsPlainHTTP = try choice($1) },
        HubSetting("server", HubCommand.proxy) {
            $0.trustedProxies.append(try checked($1) { try HubServer.check(proxy: $0) })
        },
        HubSetting("server", HubCommand.publicURL) { $0.publicURL = try webAddress($1) },
        HubSetting("server", HubCommand.signInHeader) { $0.signInHeader = try headerName($1) },
        HubSetting("tls", HubCommand.certificate, .path) {
            $0.certificate = SettingFile(text: $1, option: HubCommand.certificate)
        },
        HubSetting("tls", HubCommand.key, .path) {
            $0.key = SettingFile(text: $1, option: HubCommand.key)
        },
        HubSetting("storage", HubCommand.data, .path) { $0.data = $1 },
        HubSetting("storage", HubCommand.storage) {
            $0.storage = try checked($1) { _ = try PostgreSQLAddress($0) }
        },
        HubSetting("storage", HubCommand.storagePassword, .path) {
            $0.storagePassword = SettingFile(text: $1, option: HubCommand.storagePassword)
        },
        HubSetting("storage", HubCommand.quota) { $0.quota = try number($1) },
        HubSetting("storage", HubCommand.publicQuota) { $0.publicQuota = try number($1) },
        HubSetting("bucket", HubCommand.bucket) { $0.bucket = $1 },
        HubSetting("bucket", HubCommand.bucketRegion) { $0.bucketRegion = $1 },
        HubSetting("bucket", HubCommand.bucketKey, .path) {
            $0.bucketKey = SettingFile(text: $1, option: HubCommand.bucketKey)
        },
        HubSetting("bucket", HubCommand.bucketCA, .path) { $0.bucketCA = $1 },
        HubSetting("logs", HubCommand.accessLog, .path) { $0.accessLog = $1 },
        HubSetting("logs", HubCommand.auditLog, .path) { $0.auditLog = $1 },
        HubSetting("limits", HubCommand.sessionDays) {
            $0.limits.sessionDays = Int(clamping: min(try number($1), 3_650))
        },
        HubSetting("limits", HubCommand.limit) { try bound($1, &$0) },
    ]

    /// The sections with their keys, for the help: a line each.
    static var sections: String {
        var sections: [(name: String, keys: [String])] = []
        for setting in all {
            if sections.last?.name != setting.section { sections.append((setting.section, [])) }
            sections[sections.count - 1].keys.append(setting.option.name)
        }
        return sections.map { "  [\($0.name)] " + $0.keys.joined(separator: ", ") }
            .joined(separator: "\n")
    }

    // MARK: Values

    /// A text that a check lets pass.
    private static func checked(
        _ text: String, _ check: (String) throws -> Void
    ) throws -> String {
        do { try check(text) } catch {
            throw BadValue(message: "can't be used: \(Failure.describe(error))")
        }
        return text
    }

    /// Host and port of a text; the host of an address of version 6 stands in brackets.
    static func address(_ text: String) throws -> HubSettings.Address {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw noAddress(text) }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw noAddress(text) }
        return HubSettings.Address(host: String(host), port: port)
    }

    private static func noAddress(_ text: String) -> BadValue {
        BadValue(
            message: "takes HOST:PORT, such as 127.0.0.1:8480, and not '\(text.printable)'.")
    }

    private static func webAddress(_ text: String) throws -> URL {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            url.host?.isEmpty == false
        else {
            throw BadValue(
                message: "takes an address such as https://hub.example.com, and not "
                    + "'\(text.printable)'.")
        }
        guard ["", "/"].contains(url.path), url.query == nil, url.fragment == nil else {
            throw BadValue(
                message: "takes an address without a path, such as https://hub.example.com, not "
                    + "'\(text.printable)': clients call the hub at the root.")
        }
        return url
    }

    private static func headerName(_ text: String) throws -> String {
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
            default: false
            }
        }
        guard isName, !text.isEmpty else {
            throw BadValue(
                message: "takes the name of a header, such as X-Remote-User, and not "
                    + "'\(text.printable)'.")
        }
        return text
    }

    private static func choice(_ text: String) throws -> Bool {
        switch text {
        case "yes": return true
        case "no": return false
        default: throw BadValue(message: "takes yes or no, and not '\(text.printable)'.")
        }
    }

    private static func number(_ text: String) throws -> Int64 {
        guard let number = Int64(text), number >= 1 else {
            throw BadValue(
                message: "takes a whole number from 1 to \(Int64.max), and not "
                    + "'\(text.printable)'.")
        }
        return number
    }

    private static func bound(_ text: String, _ settings: inout HubSettings) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.trimmingPrefix { $0 == " " } }
        guard let name = parts.first?.prefix(while: { $0 != " " }),
            let bound = HubBound.named(String(name))
        else {
            throw BadValue(
                message: "takes NAME=NUMBER. There is no bound '\(text.printable)'. Give one of: "
                    + HubBound.all.map(\.name).joined(separator: ", ") + ".")
        }
        guard parts.count == 2, let value = Int(parts[1]), (1...Int(Int32.max)).contains(value)
        else {
            throw BadValue(
                message: "takes NAME=NUMBER. The bound \(bound.name) takes a whole number from 1 "
                    + "to \(Int32.max), as in \(bound.name)=\(bound.standard).")
        }
        bound.set(value, in: &settings.limits, &settings.httpLimits)
    }
}

extension HubSettings {
    /// Does something with the value of a key; a failure names the key's line, if the file has it.
    func located<Value>(_ option: Syntax.Option, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch {
            guard let place = places[option.name] else { throw error }
            throw Refusal("\(place): \(Failure.describe(error))")
        }
    }

    /// The contents of a file that a setting names.
    func read(_ file: SettingFile?, _ variables: [String: String]) throws -> String? {
        guard let file else { return nil }
        return try located(file.option) {
            try file.read(credentials: variables["CREDENTIALS_DIRECTORY"])
        }
    }

    /// The database that holds the records; nil if a folder does.
    func database() throws -> PostgreSQLAddress? {
        guard let storage else {
            guard storagePassword == nil else {
                throw UsageError("The option --storage-password goes with --storage.")
            }
            return nil
        }
        let password = try read(storagePassword, ProcessInfo.processInfo.environment)
        return try PostgreSQLAddress(
            storage, password: password?.trimmingCharacters(in: .newlines))
    }

    /// Where files are, if not in the folder.
    ///
    /// - Parameter variables: Those of the process, which may have the credentials.
    func fileStore(
        _ variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> HubFileStore? {
        guard let bucket else {
            let others = [bucketRegion, bucketKey?.text, bucketCA]
            guard others.allSatisfy({ $0 == nil }) else {
                throw UsageError("The other options of a bucket go with --bucket.")
            }
            return nil
        }
        let credentials: BucketCredentials
        if let text = try read(bucketKey, variables) {
            credentials = try located(HubCommand.bucketKey) { try BucketCredentials(file: text) }
        } else if let known = BucketCredentials(environment: variables) {
            credentials = known
        } else {
            throw Refusal(
                "The bucket needs credentials. Name a file with --bucket-key, or set AWS_ACCESS_KEY_ID and "
                    + "AWS_SECRET_ACCESS_KEY.")
        }
        return HubFileStore(
            try located(HubCommand.bucket) {
                try Bucket(
                    bucket, region: bucketRegion ?? "us-east-1", credentials: credentials,
                    certificates: bucketCA)
            })
    }

    /// The audit log, if there is one.
    func openAuditLog(_ console: Console) throws -> LogFile? {
        try auditLog.map { try LogFile($0, of: HubCommand.auditLog, console) }
    }

    /// Reads the settings: those of the options, and of the file that `--config` names what no option
    /// gives. An option that may be repeated takes the place of all lines of its key.
    ///
    /// - Throws: ``UsageError`` for an option; a refusal for the file, with each line that is wrong.
    init(_ arguments: Arguments) throws {
        var problems: [ConfigurationFile.Problem] = []
        if let path = arguments.text(HubCommand.config) {
            let file = ConfigurationFile(
                try InputFile.bytes(
                    path, of: HubCommand.config, bytesMax: ConfigurationFile.bytesMax))
            problems = file.problems + (try apply(file, at: path, besides: arguments))
            guard problems.isEmpty else {
                let lines = problems.sorted { $0.line < $1.line }
                    .map { "\(path.printable):\($0.line): \($0.message)" }
                throw Refusal(
                    "The configuration file can't be used.\n" + lines.joined(separator: "\n"))
            }
        }
        for setting in HubSetting.all {
            for text in arguments.texts(setting.option) {
                do {
                    try setting.set(&self, setting.option.value == nil ? "yes" : text)
                } catch let error as HubSetting.BadValue {
                    throw UsageError("The option --\(setting.option.name) \(error.message)")
                }
            }
        }
        guard signInHeader == nil || !trustedProxies.isEmpty else {
            throw UsageError(
                "The option --sign-in-header goes with --trusted-proxy, whose word it is.")
        }
        guard signInHeader == nil || !trustedProxies.contains(where: { $0.hasSuffix("/0") }) else {
            throw UsageError(
                "With --sign-in-header a --trusted-proxy can't be every address: whoever reaches the hub "
                    + "would sign in as anybody. Name the proxy's own address.")
        }
    }

    /// Takes over what a file says, but what the arguments say too is only checked.
    ///
    /// - Returns: What is wrong with it.
    mutating func apply(
        _ file: ConfigurationFile, at path: String, besides arguments: Arguments
    ) throws -> [ConfigurationFile.Problem] {
        var problems: [ConfigurationFile.Problem] = []
        var lines: [String: Int] = [:]
        for entry in file.entries {
            func note(_ message: String) {
                problems.append(.init(line: entry.line, message: message))
            }
            guard let setting = HubSetting.all.first(where: { $0.option.name == entry.key }) else {
                note(
                    "There is no key '\(entry.key)'."
                        + Suggestion.text(entry.key, among: HubSetting.all.map(\.option.name))
                        + " 'backstitch hub --help' lists them.")
                continue
            }
            guard setting.section == entry.section else {
                note("The key '\(entry.key)' belongs into the section [\(setting.section)].")
                continue
            }
            if let line = lines[entry.key], !setting.option.isRepeatable {
                note("The key '\(entry.key)' is in line \(line) already. Remove one of them.")
                continue
            }
            lines[entry.key] = entry.line
            guard setting.kind != .path || Self.isAbsolute(entry.value) else {
                note(
                    "The key '\(entry.key)' takes a path that begins with '/', and not "
                        + "'\(entry.value)'.")
                continue
            }
            do {
                var draft = self
                try setting.set(&draft, entry.value)
                guard !arguments.has(setting.option) else { continue }
                self = draft
                places[entry.key] = "\(path.printable):\(entry.line)"
            } catch let error as HubSetting.BadValue {
                note("The key '\(entry.key)' \(error.message)")
            }
        }
        return problems
    }

    private static func isAbsolute(_ path: String) -> Bool {
        path.hasPrefix("/") || path.hasPrefix(SettingFile.credential) || path == "-"
    }
}
