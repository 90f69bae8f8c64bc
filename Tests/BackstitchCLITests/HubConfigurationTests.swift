import BackstitchHub
import BackstitchHubCore
import ChildProcess
import Foundation
import LMDB
import PostgreSQLCluster
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchCLI

/// The file that `backstitch hub serve --config` reads.
@Suite(.budgeted) struct HubConfigurationTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    // MARK: The form

    private func entry(_ section: String, _ key: String, _ value: String, _ line: Int)
        -> ConfigurationFile.Entry
    {
        ConfigurationFile.Entry(section: section, key: key, value: value, line: line)
    }

    @Test func `lines, sections, comments and blanks are read`() {
        let text = """
            # listen = comment
            ; another

            [server] \r
            \t listen  =  127.0.0.1:1 \r
            limit = connections=5
            [a]
            b = # no comment
            """
        let file = ConfigurationFile(Array(text.utf8))
        #expect(file.problems == [])
        #expect(
            file.entries == [
                entry("server", "listen", "127.0.0.1:1", 5),
                entry("server", "limit", "connections=5", 6), entry("a", "b", "# no comment", 8),
            ])
        #expect(ConfigurationFile([]).entries == [])
    }

    @Test(arguments: [
        ("[server]\nlisten", 2, "There is no '=' in 'listen'."),
        ("[server]\n= 5", 2, "There is no key in front"), ("a = 5", 1, "is in no section"),
        ("[server]\nlisten =", 2, "has no value"), ("[server", 1, "is no section"),
        ("[]", 1, "is no section"), ("[ser]ver]", 1, "is no section"),
        ("[ a ]", 1, "is no section"), ("[a] b", 1, "is no section"),
        ("[server]\na = \"b\"", 2, "without quotes"),
        ("\u{FEFF}[server]", 1, "can't be seen"), ("[server]\na = b\u{0}c", 2, "can't be seen"),
    ])
    func `a line that is wrong is told with its number`(text: String, line: Int, message: String) {
        let file = ConfigurationFile(Array(text.utf8))
        #expect(file.entries == [])
        #expect(file.problems.map(\.line) == [line], "\(file.problems)")
        #expect(file.problems.first?.message.contains(message) == true, "\(file.problems)")
    }

    @Test func `other encodings and files that are too large are refused`() {
        let latin = ConfigurationFile(Array("[a]\nb = ".utf8) + [0xE9])
        #expect(latin.problems.map(\.line) == [2])
        #expect(latin.problems.first?.message.contains("not UTF-8") == true)
        let comment = [UInt8](repeating: UInt8(ascii: "#"), count: ConfigurationFile.bytesMax)
        #expect(ConfigurationFile(comment).problems == [])
        #expect(ConfigurationFile(comment + [0x23]).problems.count == 1)
    }

    // MARK: The keys

    /// Options of the command that are no keys: they say what the command does now, make credentials, or
    /// are of other actions.
    private static let besides: Set = [
        "config", "check-config", "json", "dev", "user", "container", "environment", "label",
        "public-key", "secret", "id", "to", "email", "discoverable", "backup",
        "password-file", "origin", "callback",
    ]

    @Test func `every option of the service is a key, and every key an option`() {
        let options = HubCommand().syntax.options.map(\.name)
        #expect(Set(options).count == options.count)
        let keys = HubSetting.all.map(\.option.name)
        #expect(Set(options).subtracting(Self.besides) == Set(keys))
        #expect(Self.besides.isSubset(of: options))
        for setting in HubSetting.all {
            #expect(HubSetting.sections.contains(setting.option.name))
        }
    }

    private func settings(_ text: String, _ words: String...) throws -> HubSettings {
        let path = fixture.root + "/hub.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let arguments = try #require(
            try Arguments(["serve", "--config", path] + words, syntax: HubCommand().syntax))
        return try HubSettings(arguments)
    }

    private static let whole = """
        [server]
        listen = [::1]:9000
        metrics-listen = 127.0.0.1:9001
        allow-plain-http = yes
        trusted-proxy = 127.0.0.1
        trusted-proxy = 10.0.0.0/8
        public-url = https://hub.example.com
        [tls]
        tls-cert = /etc/cert.pem
        tls-key = credential:tls.key
        [storage]
        data = /var/lib/backstitch
        quota = 1000
        public-quota = 2000
        [bucket]
        bucket = https://s3.example.com/files/hub
        bucket-region = eu-central-1
        bucket-key = credential:bucket.key
        bucket-ca = /etc/ca.pem
        [logs]
        access-log = /var/log/access
        audit-log = -
        [limits]
        limit = connections = 77
        limit = operationsPerRequest=5
        """

    @Test func `each key sets what its option sets`() throws {
        let settings = try settings(Self.whole)
        #expect(settings.listen == HubSettings.Address(host: "::1", port: 9000))
        #expect(settings.metricsListen == HubSettings.Address(host: "127.0.0.1", port: 9001))
        #expect(settings.accessLog == "/var/log/access" && settings.auditLog == "-")
        #expect(settings.allowsPlainHTTP)
        #expect(settings.trustedProxies == ["127.0.0.1", "10.0.0.0/8"])
        #expect(settings.publicURL?.absoluteString == "https://hub.example.com")
        #expect(settings.certificate?.text == "/etc/cert.pem")
        #expect(settings.key?.text == "credential:tls.key")
        #expect(settings.data == "/var/lib/backstitch")
        #expect(settings.quota == 1_000 && settings.publicQuota == 2_000)
        #expect(settings.bucket == "https://s3.example.com/files/hub")
        #expect(settings.bucketRegion == "eu-central-1" && settings.bucketCA == "/etc/ca.pem")
        #expect(settings.bucketKey?.text == "credential:bucket.key")
        #expect(settings.httpLimits.connections == 77)
        #expect(settings.limits.operationsPerRequest == 5)
    }

    @Test func `options come before keys, and take the place of all lines of one`() throws {
        let settings = try settings(
            Self.whole, "--listen", "127.0.0.1:1", "--trusted-proxy", "::1", "--limit",
            "connections=3", "--quota", "5")
        #expect(settings.listen == HubSettings.Address(host: "127.0.0.1", port: 1))
        #expect(settings.trustedProxies == ["::1"])
        #expect(settings.httpLimits.connections == 3)
        #expect(settings.limits.operationsPerRequest == HubLimits().operationsPerRequest)
        #expect(settings.quota == 5 && settings.publicQuota == 2_000)
    }

    @Test(arguments: [
        ("[server]\nlsten = 127.0.0.1:1", ":2: There is no key 'lsten'. Did you mean 'listen'?"),
        ("[server]\nlisten = 1:1\n\nlisten = 1:2", ":4: The key 'listen' is in line 2 already."),
        ("[tls]\nlisten = 1:1", ":2: The key 'listen' belongs into the section [server]."),
        ("[server]\nlisten = nowhere", ":2: The key 'listen' takes HOST:PORT"),
        ("[server]\nallow-plain-http = true", ":2: The key 'allow-plain-http' takes yes or no"),
        (
            "[server]\ntrusted-proxy = 10.0.0.1\ntrusted-proxy = me",
            ":3: The key 'trusted-proxy' can't be used: 'me' is no address of a proxy."
        ),
        (
            "[storage]\nstorage = nowhere",
            ":2: The key 'storage' can't be used: The address of the database can't be read."
        ),
        (
            "[storage]\nstorage = postgresql://hub:hidden@localhost/hub",
            ":2: The key 'storage' can't be used: The address of the database has a password"
        ),
        ("[storage]\nquota = much", ":2: The key 'quota' takes a whole number"),
        ("[storage]\ndata = hub", ":2: The key 'data' takes a path that begins with '/'"),
        ("[limits]\nlimit = connectoins=1", ":2: The key 'limit' takes NAME=NUMBER. There is no"),
        ("[limits]\nlimit = connections=0", ":2: The key 'limit' takes NAME=NUMBER. The bound"),
        ("[server]\nlisten", ":2: There is no '='"), ("[server]\ndev = yes", ":2: There is no key"),
    ])
    func `a key or a value that is none is told with file and line`(text: String, message: String)
        throws
    {
        let failure = #expect(throws: Refusal.self) { try settings(text) }
        #expect(failure?.description.contains("/hub.conf" + message) == true, "\(failure as Any)")
        // What an option gives is checked all the same.
        #expect(throws: Refusal.self) { try settings(text, "--listen", "127.0.0.1:1") }
    }

    @Test func `all lines that are wrong are told at once, in order`() throws {
        let failure = #expect(throws: Refusal.self) {
            try settings("[server]\nlisten = x\nfoo\n[storage]\nquota = 0\n")
        }
        let lines = failure?.description.split(separator: "\n").dropFirst() ?? []
        #expect(lines.count == 3)
        #expect(zip(lines, [2, 3, 5]).allSatisfy { $0.contains("/hub.conf:\($1): ") })
    }

    // MARK: Credentials

    @Test func `a credential is read from the folder that the service was given`() throws {
        let file = SettingFile(text: "credential:tls.key", option: HubCommand.key)
        try "secret".write(
            toFile: fixture.root + "/tls.key", atomically: true, encoding: .utf8)
        #expect(try file.read(credentials: fixture.root) == "secret")
        let none = #expect(throws: Refusal.self) { try file.read(credentials: nil) }
        #expect(none?.description.contains("LoadCredential=tls.key:FILE") == true)
        #expect(throws: Refusal.self) { try file.read(credentials: fixture.root + "/none") }
    }

    @Test func `a bucket has its credentials from a file or the environment`() throws {
        let text = "[bucket]\nbucket = https://s3.example.com/files\n"
        let variables = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hidden"]
        #expect(try settings("").fileStore(variables) == nil)
        #expect(try settings(text).fileStore(variables) != nil)
        let none = #expect(throws: Refusal.self) { try settings(text).fileStore([:]) }
        #expect(none?.description.contains("--bucket-key") == true)
        try "key\nhidden\n".write(
            toFile: fixture.root + "/bucket.key", atomically: true, encoding: .utf8)
        let named = try settings(text + "bucket-key = credential:bucket.key\n")
        #expect(try named.fileStore(["CREDENTIALS_DIRECTORY": fixture.root]) != nil)
        // A file that is named counts, also if it is not there.
        #expect(throws: Refusal.self) { try named.fileStore(variables) }
        #expect(throws: UsageError.self) {
            try settings("[bucket]\nbucket-region = x\n").fileStore(variables)
        }
        try "hidden".write(
            toFile: fixture.root + "/bucket.key", atomically: true, encoding: .utf8)
        let short = #expect(throws: Refusal.self) {
            try named.fileStore(["CREDENTIALS_DIRECTORY": fixture.root])
        }
        #expect(short?.description.contains("/hub.conf:3: ") == true)
        #expect(short?.description.contains("hidden") == false)
        let lost = #expect(throws: Refusal.self) {
            try settings("[bucket]\nbucket = nowhere\n").fileStore(variables)
        }
        #expect(
            lost?.description.contains("/hub.conf:2: The address of the bucket can't be") == true)
        let option = #expect(throws: HubError.self) {
            try settings(text, "--bucket", "nowhere").fileStore(variables)
        }
        #expect(option?.message.hasPrefix("The address of the bucket can't be read.") == true)
    }

    // MARK: The check

    private func check(_ text: String, _ words: String...) throws -> Runner.Result {
        let path = fixture.root + "/check.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Runner.run(["hub", "serve", "--config", path, "--check-config"] + words)
    }

    @Test func `the check says what would be, and opens nothing`() throws {
        let folder = fixture.root + "/hub"
        let text = "[storage]\ndata = \(folder)\n[server]\nlisten = 127.0.0.1:1\n"
        let good = try check(text)
        #expect(good.code == 0 && good.complaint == "")
        #expect(good.output.contains("It would listen at http://127.0.0.1:1."))
        #expect(good.output.contains("a new one would be made"))
        let json = try check(text, "--json", "--listen", "[::1]:2")
        #expect(
            json.output
                == #"{"data":"\#(folder)","holdsHub":false,"url":"http://[::1]:2"}"# + "\n")
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try check("[storage]\nquota = x").code == 2)
        #expect(try check("[server]\nlisten = 127.0.0.1:1").complaint.contains("--data"))
    }

    @Test func `the check finds what a start would find`() throws {
        let storage = "[storage]\ndata = \(fixture.root)/hub\n"
        let open = try check(storage + "[server]\nlisten = 0.0.0.0:1\n")
        #expect(open.code == 2 && open.complaint.contains("Give a certificate"))
        let proxy = try check(storage + "[server]\ntrusted-proxy = me\n")
        #expect(proxy.code == 2 && proxy.complaint.contains("/check.conf:4: "))
        let pem = fixture.root + "/bad.pem"
        try "none".write(toFile: pem, atomically: true, encoding: .utf8)
        let single = try check(storage + "[tls]\ntls-cert = \(pem)\n")
        #expect(single.code == 2 && single.complaint.contains("/check.conf:4: "))
        #expect(single.complaint.contains("Give both"), "\(single.complaint)")
        let bad = try check(storage + "[tls]\ntls-cert = \(pem)\ntls-key = \(pem)\n")
        #expect(bad.code == 2 && bad.complaint.contains("/check.conf:4: "))
        #expect(bad.complaint.contains("in PEM and belong together"), "\(bad.complaint)")
        let missing = try check(storage + "[tls]\ntls-cert = \(pem)\ntls-key = /nowhere.pem\n")
        #expect(missing.code == 2 && missing.complaint.contains("/check.conf:5: '/nowhere.pem'"))
    }

    @Test func `the check refuses a folder and logs that a start would refuse`() throws {
        let folder = fixture.root + "/newer"
        #expect(try Runner.run("hub", "token", "--data", folder).code == 0)
        let environment = try Environment.open(
            at: folder, options: EnvironmentOptions(databases: ["hub"]))
        let database = try environment.database("hub")
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try [UInt8(1)].withUnsafeBytes { key in
                    try Array(#"{"format":2}"#.utf8).withUnsafeBytes {
                        try transaction.access.put(key, $0, in: database)
                    }
                }
            }
        }
        environment.close()
        let before = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let newer = try check("[storage]\ndata = \(folder)\n")
        #expect(newer.code == 2 && newer.complaint.contains("format 2"), "\(newer.complaint)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == before)
        let storage = "[storage]\ndata = \(fixture.root)/hub\n[logs]\n"
        for key in ["access-log", "audit-log"] {
            let lost = try check(storage + "\(key) = \(fixture.root)/none/log\n")
            #expect(lost.code == 2 && lost.complaint.contains("--\(key)"), "\(lost.complaint)")
            let good = try check(storage + "\(key) = \(fixture.root)/log\n")
            #expect(good.code == 0, "\(good.complaint)")
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.root + "/log"))
    }

    @Test(.enabled(if: PostgreSQLCluster.isInstalled))
    func `the check refuses a database and its folder that a start would refuse`() async throws {
        let cluster = try PostgreSQLCluster()
        defer { cluster.stop() }
        let folder = fixture.root + "/files"
        let text = """
            [server]
            listen = 127.0.0.1:0
            [storage]
            storage = \(cluster.address)
            data = \(folder)

            """
        func expectRefusal(_ words: String) throws {
            let checked = try check(text)
            #expect(checked.code == 2 && checked.complaint.contains(words), "\(checked)")
            let started = try Runner.run("hub", "serve", "--config", fixture.root + "/check.conf")
            #expect(started.code == 2 && started.complaint.contains(words), "\(started)")
        }
        #expect(try check(text).complaint.contains("hub migrate --storage"))
        #expect(!FileManager.default.fileExists(atPath: folder))
        try expectRefusal("has no hub")
        #expect(try Runner.run("hub", "migrate", "--storage", cluster.address).code == 0)
        let good = try check(text)
        #expect(good.code == 0 && good.output.contains("holds a hub."), "\(good)")
        _ = try cluster.ask("ALTER SYSTEM SET fsync = off")
        _ = try cluster.ask("SELECT pg_reload_conf()")
        try await eventually(pausing: .milliseconds(50)) { try cluster.ask("SHOW fsync") == "off" }
        try expectRefusal("fsync off")
        #expect(try Runner.run("hub", "token", "--data", folder).code == 0)
        try expectRefusal("has a data.mdb")
    }

    @Test func `an address with a path, and a header that anybody may send, are refused`() throws {
        let storage = "[storage]\ndata = \(fixture.root)/hub\n[server]\n"
        let path = try check(storage + "public-url = https://hub.example.com/hub\n")
        #expect(path.code == 2 && path.complaint.contains(":4: "), "\(path.complaint)")
        #expect(try check(storage + "public-url = https://hub.example.com/\n").code == 0)
        let header = storage + "sign-in-header = X-User\ntrusted-proxy = "
        for network in ["0.0.0.0/0", "::/0"] {
            let open = try check(header + network + "\n")
            #expect(open.code == 2 && open.complaint.contains("as anybody"), "\(open.complaint)")
        }
        #expect(try check(header + "10.0.0.0/8\n").code == 0)
    }

    @Test func `the check asks a bucket, and a service starts without it`() throws {
        let key = fixture.root + "/bucket.key"
        try "key\nhidden\n".write(toFile: key, atomically: true, encoding: .utf8)
        // Nobody listens there.
        let text =
            "[storage]\ndata = \(fixture.root)/hub\n[bucket]\nbucket = http://127.0.0.1:1/files\n"
            + "bucket-key = \(key)\n"
        let away = try check(text)
        #expect(
            away.code == 2 && away.complaint.contains("'files' at '127.0.0.1:1' can't be reached"))
        #expect(!away.complaint.contains("hidden"))
        let path = fixture.root + "/run.conf"
        try ("[server]\nlisten = 127.0.0.1:0\n" + text)
            .write(toFile: path, atomically: true, encoding: .utf8)
        let child = try Runner.start(["hub", "serve", "--config", path])
        let line = String(decoding: child.output.availableData, as: UTF8.self)
        #expect(line.hasPrefix("Listening at http://127.0.0.1:"))
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
        let told = String(decoding: child.complaint.readDataToEndOfFile(), as: UTF8.self)
        #expect(told.contains("can't be reached") && !told.contains("hidden"))
    }

    @Test(arguments: PostgreSQLCluster.isInstalled ? [false, true] : [false])
    func `the check refuses a hub without its bucket, as a start does`(
        isInDatabase: Bool
    ) throws {
        let cluster = try isInDatabase ? PostgreSQLCluster() : nil
        defer { cluster?.stop() }
        var text = "[server]\nlisten = 127.0.0.1:0\n[storage]\ndata = \(fixture.root)/hub\n"
        if let cluster {
            #expect(try Runner.run("hub", "migrate", "--storage", cluster.address).code == 0)
            text += "storage = \(cluster.address)\n"
        }
        let (key, path) = (fixture.root + "/bucket.key", fixture.root + "/run.conf")
        try "key\nhidden\n".write(toFile: key, atomically: true, encoding: .utf8)
        // Nobody listens there.
        let bucket = "[bucket]\nbucket = http://127.0.0.1:1/files\nbucket-key = \(key)\n"
        try (text + bucket).write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try check(text).code == 0)
        #expect(try check(text + bucket).complaint.contains("can't be reached"))
        // From this start on the hub needs a bucket.
        let child = try Runner.start(["hub", "serve", "--config", path])
        let line = String(decoding: child.output.availableData, as: UTF8.self)
        #expect(line.hasPrefix("Listening at http://127.0.0.1:"))
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
        let checked = try check(text)
        #expect(checked.code == 2 && checked.complaint.contains("Name it (--bucket)"), "\(checked)")
        let started = try Runner.run("hub", "serve", "--config", fixture.root + "/check.conf")
        #expect(started.code == 2 && started.complaint.contains("Name it (--bucket)"), "\(started)")
    }

    @Test func `the check wants a folder for uploads, as a start does`() throws {
        let key = fixture.root + "/bucket.key"
        try "key\nhidden\n".write(toFile: key, atomically: true, encoding: .utf8)
        let text = "[bucket]\nbucket = http://127.0.0.1:1/files\nbucket-key = \(key)\n"
        let checked = try check(text, "--dev")
        #expect(checked.code == 2 && checked.complaint.contains("uploads under way"))
    }

    @Test func `a service is run by its file, and other actions find the folder there`() throws {
        let path = fixture.root + "/run.conf"
        let folder = fixture.root + "/hub"
        try "[server]\nlisten = 127.0.0.1:0\n[storage]\ndata = \(folder)\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try Runner.run("hub", "token", "--config", path).code == 0)
        let child = try Runner.start(["hub", "serve", "--config", path])
        let line = String(decoding: child.output.availableData, as: UTF8.self)
        #expect(line.hasPrefix("Listening at http://127.0.0.1:"))
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
        let missing = try Runner.run("hub", "--config", fixture.root + "/none.conf")
        #expect(missing.code == 2 && missing.complaint.contains("Check --config."))
    }
}
