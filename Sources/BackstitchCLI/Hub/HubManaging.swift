import BackstitchHub
import Foundation
import Terminal

/// Lists and changes the users, sessions, API tokens, server keys and containers of a hub.
struct HubManaging {
    /// What is done with them.
    enum Verb: String, CaseIterable {
        case list
        case add
        case rename
        case change
        case remove
        case password
        case code
    }

    let hub: Hub
    let arguments: Arguments
    let audit: LogFile?
    let console: Console

    /// The environment that the options name.
    var realm: HubAccounts.Realm {
        HubAccounts.Realm(
            arguments.text(HubCommand.container) ?? "iCloud.backstitch",
            environment: arguments.text(HubCommand.environment) ?? "development")
    }

    /// Whether something is to be added, which a new hub can have too.
    static func adds(_ arguments: Arguments) -> Bool {
        arguments.operands.dropFirst().first == Verb.add.rawValue
    }

    /// The verb behind an action.
    ///
    /// - Parameter verbs: Those that the action takes.
    static func verb(_ arguments: Arguments, _ verbs: [Verb]) throws(UsageError) -> Verb {
        let names = verbs.map(\.rawValue).joined(separator: ", ")
        guard arguments.operands.count > 1 else {
            throw UsageError("What is to be done? Give one of: \(names).")
        }
        let word = arguments.operands[1]
        guard let verb = Verb(rawValue: word), verbs.contains(verb) else {
            throw UsageError("There is no action '\(word.printable)' here. Give one of: \(names).")
        }
        return verb
    }

    /// The value of an option that has to be given.
    private func required(_ option: Syntax.Option) throws(UsageError) -> String {
        guard let text = arguments.text(option) else {
            throw UsageError("The option --\(option.name) is missing.")
        }
        return text
    }

    /// The one user that is meant.
    private func user() throws(UsageError) -> String {
        let names = try HubAction.names(arguments)
        guard names.count == 1 else { throw UsageError("Give one --user at a time.") }
        return names[0]
    }

    private func note(_ event: AuditEntry.Event, user: String? = nil, in realm: HubAccounts.Realm) {
        audit?.add(
            AuditEntry(
                event, container: realm.container, environment: realm.environment, user: user
            ).line)
    }

    /// Writes a document, or lines in its place.
    private func tell(_ document: some Encodable, _ lines: @autoclosure () -> [String]) throws {
        if arguments.has(.json) { return console.output.line(try JSON.line(document)) }
        for line in lines() { console.output.line(line) }
    }

    /// Whether an environment is to be listed: all are, unless the options name one.
    private func isListed(_ other: HubAccounts.Realm) -> Bool {
        let container = arguments.text(HubCommand.container)
        let environment = arguments.text(HubCommand.environment)
        return container.map { $0 == other.container } ?? true
            && environment.map { $0 == other.environment } ?? true
    }

    // MARK: Users

    func users() async throws -> ExitCode {
        let realm = realm
        let accounts = hub.accounts
        switch try Self.verb(arguments, Verb.allCases) {
        case .list: try await listUsers()
        case .add:
            try await accounts.makeContainer(realm.container, environment: realm.environment)
            let user = try await accounts.addUser(
                user(), container: realm.container, environment: realm.environment, change())
            note(.userMade, user: user.userRecordName, in: realm)
            try tell(HubListing.User(user, realm), ["\(user.userRecordName)"])
        case .rename:
            var change = HubAccounts.UserChange()
            change.name = try required(HubCommand.newName)
            try await changeUser(change)
        case .change: try await changeUser(change())
        case .remove:
            let erasure = try await accounts.removeUser(
                user(), container: realm.container, environment: realm.environment)
            note(.userErased, user: erasure.userRecordName, in: realm)
            try tell(HubListing.Erased(erasure), [HubListing.Erased(erasure).text])
        case .password:
            let path = try required(HubCommand.passwordFile)
            let password = try InputFile.text(path, of: HubCommand.passwordFile)
                .trimmingCharacters(in: .newlines)
            try await hub.signIns.setPassword(password, of: user(), in: realm)
            note(.passwordChanged, in: realm)
        case .code:
            let code = try await hub.signIns.makeCode(for: user(), in: realm)
            note(.codeMade, in: realm)
            try tell(["code": code], [code])
        }
        return .success
    }

    private func listUsers() async throws {
        var users: [HubListing.User] = []
        for realm in try await hub.accounts.containers() where isListed(realm) {
            users += try await hub.accounts.users(
                realm.container, environment: realm.environment
            ).map { HubListing.User($0, realm) }
        }
        try tell(["users": users], HubListing.User.table(users))
    }

    private func changeUser(_ change: HubAccounts.UserChange) async throws {
        let realm = realm
        let user = try await hub.accounts.changeUser(
            user(), container: realm.container, environment: realm.environment, change)
        note(.userChanged, user: user.userRecordName, in: realm)
        try tell(
            HubListing.User(user, realm), HubListing.User.table([HubListing.User(user, realm)]))
    }

    /// What the options say of a user.
    private func change() throws(UsageError) -> HubAccounts.UserChange {
        var change = HubAccounts.UserChange()
        change.emailAddress = arguments.text(HubCommand.email)
        switch arguments.text(HubCommand.discoverable) {
        case nil: break
        case "yes"?: change.isDiscoverable = true
        case "no"?: change.isDiscoverable = false
        case let text?:
            throw UsageError(
                "The option --discoverable takes yes or no, and not '\(text.printable)'.")
        }
        return change
    }

    // MARK: Credentials

    func sessions() async throws -> ExitCode {
        let realm = realm
        switch try Self.verb(arguments, [.list, .add, .remove]) {
        case .add:
            let name = try user()
            let users = try await hub.accounts.users(
                realm.container, environment: realm.environment)
            guard users.contains(where: { $0.name == name }) else {
                throw Refusal("There is no user '\(name.printable)'. 'users add' makes one.")
            }
            let user = try await hub.accounts.signIn(
                name, container: realm.container, environment: realm.environment)
            note(.userSignedIn, user: user.userRecordName, in: realm)
            try tell(HubDocument.User(user), [user.webAuthToken])
        case .remove:
            guard arguments.has(HubCommand.user) else { return try await remove(.session) }
            let count = try await hub.accounts.endSessions(
                of: user(), container: realm.container, environment: realm.environment)
            note(.credentialRevoked, in: realm)
            try tell(["sessions": count], ["Ended \(count.counted("session"))."])
        default:
            let named = arguments.texts(HubCommand.user)
            try await list(.session) { named.isEmpty || named.contains($0.userName ?? "") }
        }
        return .success
    }

    /// API tokens and server keys.
    func credentials(_ kind: HubAccounts.Credential.Kind) async throws -> ExitCode {
        let realm = realm
        let verbs: [Verb] = [.list, .add, .rename, .remove]
        switch try Self.verb(arguments, verbs + (kind == .apiToken ? [.change] : [])) {
        case .add:
            return try await (kind == .apiToken ? HubAction.token : .key)
                .run(hub, arguments, audit, console)
        case .rename:
            let id = try required(HubCommand.id)
            guard
                let credential = try await hub.accounts.relabel(
                    id: id, of: kind, required(HubCommand.label))
            else { return missing(id) }
            note(.credentialRelabelled, in: realm)
            let listing = HubListing.Credential(credential)
            try tell(listing, HubListing.Credential.table([listing]))
        case .change: return try await changePages()
        case .remove: return try await remove(kind)
        default: try await list(kind) { _ in true }
        }
        return .success
    }

    /// The web pages that the options name.
    private var pages: (origins: [String]?, callback: String?) {
        (
            arguments.has(HubCommand.origin) ? arguments.texts(HubCommand.origin) : nil,
            arguments.text(HubCommand.callback)
        )
    }

    /// Checks them before anything is made.
    func checkPages() throws {
        try HubSignIns.check(origins: pages.origins ?? [], callback: pages.callback)
    }

    /// Has the sign-in page hand tokens to the web pages that the options name, for a new API token.
    func setPages(ofNew token: String) async throws {
        let (origins, callback) = pages
        guard origins != nil || callback != nil else { return }
        _ = try await hub.signIns.setPages(
            ofToken: HubAccounts.id(ofAPIToken: token), origins: origins, callback: callback)
    }

    private func changePages() async throws -> ExitCode {
        let id = try required(HubCommand.id)
        let (origins, callback) = pages
        guard origins != nil || callback != nil else {
            throw UsageError("The option --origin is missing, or --callback.")
        }
        guard
            try await hub.signIns.setPages(ofToken: id, origins: origins, callback: callback)
        else { return missing(id) }
        note(.pagesChanged, in: realm)
        try await list(.apiToken) { $0.id == id.lowercased() }
        return .success
    }

    private func list(
        _ kind: HubAccounts.Credential.Kind,
        where isMeant: (HubAccounts.Credential) -> Bool
    ) async throws {
        let names: [HubAccounts.Credential.Kind: String] = [
            .session: "sessions", .apiToken: "tokens", .serverKey: "keys",
        ]
        let found = try await hub.accounts.credentials(kind)
            .filter { isListed($0.realm) && isMeant($0) }.map { HubListing.Credential($0) }
        try tell([names[kind] ?? "": found], HubListing.Credential.table(found))
    }

    private func remove(_ kind: HubAccounts.Credential.Kind) async throws -> ExitCode {
        try await revoke(id: required(HubCommand.id), of: [kind])
    }

    /// Makes the credential of an id stop working.
    func revoke(id: String, of kinds: [HubAccounts.Credential.Kind]) async throws -> ExitCode {
        guard let credential = try await hub.accounts.revoke(id: id, of: kinds) else {
            return missing(id)
        }
        note(.credentialRevoked, user: credential.userRecordName, in: credential.realm)
        let listing = HubListing.Credential(credential)
        try tell(listing, HubListing.Credential.table([listing]))
        return .success
    }

    private func missing(_ id: String) -> ExitCode {
        console.complain("backstitch hub: There is nothing with the id '\(id.printable)'.")
        return .negative
    }

    // MARK: Containers

    func containers() async throws -> ExitCode {
        let accounts = hub.accounts
        let verb = try Self.verb(arguments, [.list, .add, .rename, .remove])
        guard verb != .list else {
            let found = try await accounts.containers().filter(isListed)
                .map { HubListing.Container($0) }
            try tell(["containers": found], HubListing.Container.table(found))
            return .success
        }
        // What is made or goes for ever is not taken from what an option is unless it is given.
        _ = try required(HubCommand.container)
        let realm = realm
        switch verb {
        case .add:
            try await accounts.makeContainer(realm.container, environment: realm.environment)
            note(.containerMade, in: realm)
        case .rename:
            let name = try required(HubCommand.newName)
            try await accounts.renameContainer(realm, to: name)
            note(.containerRenamed, in: realm)
            let renamed = HubAccounts.Realm(name, environment: realm.environment)
            try tell(
                HubListing.Container(renamed),
                HubListing.Container.table([HubListing.Container(renamed)]))
            return .success
        default:
            let erasure = try await accounts.removeContainer(realm)
            note(.containerErased, in: realm)
            try tell(HubListing.Erased(erasure), [HubListing.Erased(erasure).text])
            return .success
        }
        try tell(
            HubListing.Container(realm), HubListing.Container.table([HubListing.Container(realm)]))
        return .success
    }
}
