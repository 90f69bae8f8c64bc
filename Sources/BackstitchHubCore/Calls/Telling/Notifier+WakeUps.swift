import CloudKitWire

// What other hubs change, for the devices that listen at this one.

extension Notifier {
    /// The most changes of a zone that are told one by one if another hub made them.
    private static let changesPerZone = 200

    /// What others changed in a database.
    private struct News: Sendable {
        var from: WatchedFeeds.Position
        var to: WatchedFeeds.Position
        var zones: [(name: String, changes: [RecordChange])]
    }

    /// Notes where the databases stand of which a user's devices are told from now on.
    func listen(for listener: CourierListener) async throws {
        guard !feeds.knows(listener) else { return }
        let found = try await storage.read { transaction in
            let realms = HubKey(.global, .realm)
            transaction.expect { [.first(KeyQuery.entriesPerPart, of: realms)] }
            let realm = try transaction.rows(under: realms, as: RealmRow.self)
                .first { $0.row.number == listener.realm }?.row
            let user = listener.userRecordName
            let scopes = [DatabaseAccess.Scope.own(user), .everybodys]
            var found: [(access: DatabaseAccess, position: WatchedFeeds.Position)] = []
            guard let realm else { return found }
            transaction.expect { scopes.map { .key($0.name(in: realm).key) } }
            for scope in scopes {
                guard let partition = try transaction.partition(of: scope.name(in: realm)) else {
                    continue
                }
                let access = DatabaseAccess(
                    realm: realm, scope: scope, principal: .user(user), partition: partition)
                found.append((access, try transaction.feedPosition(of: access)))
            }
            return found
        }
        // A database that is made later is looked for again.
        guard !found.isEmpty else { return }
        feeds.add(found, of: listener) {
            mailboxes.mayListen(realm: $0.realm, user: $0.userRecordName)
        }
    }

    /// Tells devices that listen here of what others changed, some time after this returns.
    func wake(_ changed: ChangedPartitions) {
        if changed.contains(.global) { authentications.forgetAll() }
        for access in feeds.databases(in: changed) {
            guard mailboxes.mayListen(realm: access.realm.number, user: access.ownerRecordName)
            else {
                feeds.remove(access)
                continue
            }
            let work = RequestWork(
                client: "others", clock: configuration.clock.steadyMilliseconds)
            storage.submitRead(.page, work) { [self] transaction in
                work.limit(milliseconds: configuration.limits.readMilliseconds)
                return try news(of: access, transaction)
            } answer: { [self] result in
                return { [self] in
                    do { try tell(result.get(), access, work) } catch { noteUntold(error) }
                }
            }
        }
    }

    private func tell(_ news: News?, _ access: DatabaseAccess, _ work: RequestWork) {
        guard let news else { return }
        guard feeds.advance(access.partition, from: news.from, to: news.to) else {
            // Who told a part of it meanwhile may have read less.
            return wake(.some([access.partition]))
        }
        for zone in news.zones {
            notify(of: zone.changes, in: [zone.name], access, sender: nil, work)
        }
    }

    /// What was changed in a database since devices were told of it; nil if nothing was.
    private func news(of access: DatabaseAccess, _ transaction: any HubReading) throws -> News? {
        guard let from = feeds.position(of: access.partition) else { return nil }
        let to = try transaction.feedPosition(of: access)
        // A write of this hub is passed before it is committed.
        guard to.database > from.database else { return nil }
        let feed = HubKey(access.partition, .databaseFeed)
        var names: [String] = []
        try unsafe transaction.scanInParts(feed, from: feed.adding(from.database &+ 1)) {
            _, value in
            unsafe names.append(String(decoding: value, as: UTF8.self))
            return true
        }
        let zones = try names.map { name in
            (name: name, changes: try changes(in: name, after: from, access, transaction))
        }
        return News(from: from, to: to, zones: zones)
    }

    /// What was changed in a zone since a position; nothing of one that was deleted.
    private func changes(
        in zoneName: String, after position: WatchedFeeds.Position, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> [RecordChange] {
        let zone: ZoneRow? = try transaction.row(ZoneRow.key(access.partition, zoneName))
        guard let zone, !zone.isDeleted else { return [] }
        let known = position.zones[zoneName] ?? 0
        // A zone that was made anew begins at its beginning.
        let start = known > zone.sequence ? 0 : known
        var changes: [RecordChange] = []
        let limits = ZoneFeed.PageLimits(
            count: Self.changesPerZone, bytes: configuration.limits.pageBytes)
        _ = try unsafe ZoneFeed(zone: zone, partition: access.partition, transaction: transaction)
            .visit(after: start, limits) { name, view in
                let record = unsafe StoredRecord(
                    view, recordName: String(decoding: name, as: UTF8.self))
                let isNew = record.created == record.modified
                changes.append(
                    RecordChange(
                        kind: record.isDeleted ? .deleted : isNew ? .created : .updated,
                        record: record))
                return 0
            }
        return changes
    }
}

extension HubReading {
    /// Where the feeds of a database stand.
    fileprivate func feedPosition(of access: DatabaseAccess) throws -> WatchedFeeds.Position {
        expect {
            [
                .key(DatabaseRow.key(access.partition)),
                .first(KeyQuery.entriesPerPart, of: HubKey(access.partition, .zone)),
            ]
        }
        let zones = try zones(access)
        return WatchedFeeds.Position(
            database: try database(access).sequence,
            zones: Dictionary(zones.map { ($0.zoneName, $0.sequence) }) { $1 })
    }
}
