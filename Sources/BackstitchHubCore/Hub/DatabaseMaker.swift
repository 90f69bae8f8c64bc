import CloudKitWire

/// Makes databases on first use.
struct DatabaseMaker: Sendable {
    let storage: any HubStorage
    let configuration: HubConfiguration

    /// The right to use a database, which is made with its default zone on first use.
    func open(
        _ authentication: Authentication, _ scope: DatabaseAccess.Scope, _ work: RequestWork
    ) async throws -> DatabaseAccess {
        while true {
            let known = try await storage.readSoon(work) {
                try authentication.access(to: scope, $0)
            }
            if let known { return known }
            let last = try await storage.readSoon(work) { try $0.state() }.lastDatabase
            let new = authentication.access(to: scope, in: Partition(number: last + 1))
            let (limits, now) = (configuration.limits, configuration.now)
            try await storage.write(
                work, to: [.global, new.partition],
                expecting: {
                    [.key(StateRow.key), .key(new.name.key)]
                        + (new.userKey.map { [.key($0)] } ?? [])
                        + [.first(1, of: HubKey(new.partition))]
                }
            ) { transaction in
                if let user = new.userKey {
                    guard let row: UserRow = try transaction.row(user), !row.isErased else {
                        throw WireError(.authenticationFailed, "Authentication failed")
                    }
                }
                // Another one may have made it, or may have taken the number: then it is tried again.
                guard try transaction.state().lastDatabase == last,
                    try transaction.partition(of: new.name) == nil
                else { return }
                try transaction.makeDatabase(new, now: now, limits)
            }
        }
    }
}
