import BackstitchCore
import CloudKitWire
import WireCrypto

/// Tells devices of changes: those of requests to this hub, and those that others make.
///
/// What it tells are hints. Devices that miss one hear of the change when they ask.
struct Notifier: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let mailboxes: any MailboxStorage
    let feeds: WatchedFeeds
    let authentications: AuthenticationCache
    let queue: NotificationQueue
    let metrics: HubMetrics
    let pool: WorkPool

    /// A notification of a subscription, for devices of its user.
    private struct Firing {
        var notification: CourierNotification
        var tokens: [[UInt8]] = []
    }

    /// A subscription that fires once, by its key, and what it tells.
    private struct LastFiring {
        var key: HubKey
        var firing: Firing
    }

    /// Tells the devices that want to know of changes in zones, except the one that made them, some
    /// time after this returns.
    ///
    /// Only devices that listen are told, and only their users' subscriptions are looked at. A failure
    /// is logged and nothing else: notifications are hints.
    ///
    /// - Parameters:
    ///   - changes: What happened to records, which are all of one zone.
    ///   - zoneNames: The zones that changed.
    func notify(
        of changes: [RecordChange], in zoneNames: [String], _ access: DatabaseAccess,
        sender: String?, _ work: RequestWork
    ) {
        guard !zoneNames.isEmpty,
            mailboxes.mayListen(realm: access.realm.number, user: access.ownerRecordName)
        else { return }
        let bytes = changes.reduce(0) { $0 + $1.record.fieldsJSON.count }
        let requestsMax = configuration.limits.waitingNotifications
        guard queue.enter(bytes: bytes, max: requestsMax) else {
            return metrics.countUntoldRequest()
        }
        // In the name of who changed something, but with a time of its own.
        let own = RequestWork(
            client: work.client, isAnonymous: work.isAnonymous,
            clock: configuration.clock.steadyMilliseconds)
        let senderHash = sender.map { Digest.sha256($0) }
        storage.submitRead(.scan, own) { [self] transaction in
            own.limit(milliseconds: configuration.limits.readMilliseconds)
            return try tell(of: changes, in: zoneNames, access, except: senderHash, transaction)
        } answer: { [self] result in
            var last: [LastFiring] = []
            do { last = try result.get() } catch { noteUntold(error) }
            return { [self, last] in
                pool.handOver { [self] in
                    guard !last.isEmpty else { return queue.leave(bytes: bytes) }
                    // The task is the queue's: its place there is given back at its end.
                    Task {
                        defer { queue.leave(bytes: bytes) }
                        do { try await end(last, access, own) } catch { noteUntold(error) }
                    }
                }
            }
        }
    }

    func noteUntold(_ error: any Error) {
        if error is WorkCancelled {
            metrics.countUntoldRequest()
        } else {
            configuration.log(failure: error, call: "notify")
        }
    }

    private func post(_ firing: Firing) {
        for token in firing.tokens {
            mailboxes.post(firing.notification, to: token, wake: pool.handOver)
        }
        metrics.countNotifications(firing.tokens.count)
    }

    /// Tells devices of changes.
    ///
    /// - Returns: What subscriptions tell that fire once, which have to be ended first.
    private func tell(
        of changes: [RecordChange], in zoneNames: [String], _ access: DatabaseAccess,
        except sender: [UInt8]?, _ transaction: any HubReading
    ) throws -> [LastFiring] {
        let listeners = mailboxes.devices(realm: access.realm.number, user: access.ownerRecordName)
        transaction.expect {
            listeners.map {
                .first(
                    configuration.limits.subscriptionsPerUser + 1,
                    of: SubscriptionRow.prefix(access.partition, user: $0.user))
            }
        }
        var last: [LastFiring] = []
        let records = try changes.map {
            let record = try QueriedRecord($0.record, zoneName: zoneNames.first ?? "")
            return ChangedRecord(change: $0, record: record)
        }
        var pairs = configuration.limits.notifiedPairs
        for (user, tokens) in listeners {
            let tokens = tokens.filter { $0 != sender }
            guard !tokens.isEmpty else { continue }
            let rows = try transaction.rows(
                under: SubscriptionRow.prefix(access.partition, user: user),
                as: SubscriptionRow.self)
            for (key, row) in rows where row.userRecordName == user {
                pairs -= max(changes.count, zoneNames.count)
                guard pairs >= 0 else { throw WorkCancelled() }
                let isOnce = row.subscription.firesOnce == true
                let most = isOnce ? 1 : NotificationMailboxes.notificationsMax
                let notifications = try zoneNames.flatMap {
                    try self.notifications(
                        row.subscription, records, $0, access, transaction.work, max: most)
                }.prefix(most)
                for notification in notifications {
                    let firing = Firing(notification: notification, tokens: tokens)
                    if isOnce {
                        last.append(LastFiring(key: key, firing: firing))
                    } else {
                        post(firing)
                    }
                }
            }
        }
        return last
    }

    /// Ends subscriptions that fire once, and then tells. If two changes fire one at the same time,
    /// the one that ends it counts.
    private func end(
        _ last: [LastFiring], _ access: DatabaseAccess, _ work: RequestWork
    ) async throws {
        let keys = last.map(\.key)
        let ended = try await storage.write(
            work, to: [access.partition], expecting: { keys.map { .key($0) } }
        ) { transaction in
            var ended: Set<HubKey> = []
            for key in keys {
                guard let row: SubscriptionRow = try transaction.row(key),
                    row.subscription.firesOnce == true
                else { continue }
                try transaction.delete(key)
                ended.insert(key)
            }
            return ended
        }
        for firing in last where ended.contains(firing.key) { post(firing.firing) }
    }

    /// A change with the fields of its record.
    private struct ChangedRecord {
        var change: RecordChange
        var record: QueriedRecord
    }

    private func notifications(
        _ subscription: WireSubscription, _ changes: [ChangedRecord], _ zoneName: String,
        _ access: DatabaseAccess, _ work: RequestWork, max: Int
    ) throws -> [CourierNotification] {
        guard subscription.isAbout(zoneName) else { return [] }
        let id = subscription.subscriptionID ?? ""
        // It was checked when the subscription was made.
        let info = subscription.notificationInfo.flatMap { try? WireNotificationInfo($0) }
        func notification(
            _ subject: NotificationPayload.Subject, _ text: String
        ) -> CourierNotification {
            let payload = NotificationPayload(
                notificationID: configuration.clock.secret(16).hexadecimal,
                container: access.realm.container, subscriptionID: id, zoneName: zoneName,
                ownerRecordName: access.ownerRecordName, info: info, subject: subject)
            return CourierNotification(subject: text, payload: payload.bytes)
        }
        switch subscription.kind {
        case .zone: return [notification(.zone, "fet \(access.realm.number) \(id)")]
        case .database:
            return [notification(.database, "met \(access.realm.number) \(id) \(zoneName)")]
        case .query: break
        }
        // A filter that lacks what it needs keeps no other subscription from being told.
        guard let query = subscription.query,
            let evaluator = try? FilterEvaluator(filters: query.filters)
        else { return [] }
        var notifications: [CourierNotification] = []
        // No device keeps more than so many.
        for changed in changes where notifications.count < max {
            let change = changed.change
            try work.step()
            guard change.record.recordType == query.recordType,
                subscription.firesOn?.contains(change.kind.name) ?? true
            else { continue }
            // Of a deleted record nothing is left that could be compared.
            guard try change.kind == .deleted || meets(evaluator, changed.record, work) else {
                continue
            }
            notifications.append(
                notification(
                    .record(change, fields: changed.record.fields, isPublic: access.isPublic),
                    "qry \(access.realm.number) \(id) \(zoneName)/\(change.record.recordName)"))
        }
        return notifications
    }

    /// Whether a record meets filters; one with a field that can't be compared, because it is encrypted, does not.
    private func meets(
        _ evaluator: FilterEvaluator, _ record: QueriedRecord, _ work: RequestWork
    ) throws -> Bool {
        do { return try evaluator.matches(record, work) } catch is WireError { return false }
    }
}

extension WireSubscription {
    /// Whether changes in a zone are what the subscription is about.
    fileprivate func isAbout(_ zoneName: String) -> Bool {
        switch kind {
        case .database: true
        case .zone: zoneID?.zoneName == zoneName
        // Without a zone it is about all, or about the default one.
        case .query:
            if let zoneID {
                zoneID.zoneName == zoneName
            } else {
                isZoneWide ?? true || zoneName == WireZoneID.defaultZoneName
            }
        }
    }
}

extension HubReading {
    /// The hashes of the tokens of a user's devices.
    func pushTokens(of user: String, realm: UInt32) throws -> [[UInt8]] {
        let prefix = PushTokenRow.prefix(realm: realm, user: user)
        var tokens: [[UInt8]] = []
        try unsafe scan(prefix, from: nil) { key, value in
            if unsafe value.elementsEqual(user.utf8) {
                unsafe tokens.append(Array(key[prefix.bytes.count...]))
            }
            return true
        }
        return tokens
    }
}
