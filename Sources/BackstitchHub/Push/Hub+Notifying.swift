import CloudKitWire
import WireCrypto

extension Hub {
    /// What a request changed, for those who want to know.
    struct Change {
        enum Kind: Int64 {
            case created = 1
            case updated = 2
            case deleted = 3

            /// The word for it in `firesOn`.
            var name: String {
                switch self {
                case .created: "create"
                case .updated: "update"
                case .deleted: "delete"
                }
            }
        }

        var kind: Kind
        var record: StoredRecord
    }

    /// Tells the devices that want to know of changes in a zone, except the one that made them.
    ///
    /// A failure is logged and nothing else: notifications are hints.
    func notify(
        of changes: [Change], in zoneName: String, _ access: DatabaseAccess, sender: String?
    ) {
        let notifications: [(user: String, CourierNotification)]
        let tokens: [String: [[UInt8]]]
        do {
            (notifications, tokens) = try storage.read { transaction in
                guard let database = try transaction.database(access) else { return ([], [:]) }
                let rows = try transaction.rows(
                    under: SubscriptionRow.prefix(database: database.number),
                    as: SubscriptionRow.self)
                let notifications = try rows.flatMap {
                    try self.notifications($0.row, changes, zoneName, access)
                }
                var tokens: [String: [[UInt8]]] = [:]
                for user in Set(notifications.map(\.user)) {
                    tokens[user] = try transaction.pushTokens(
                        of: user, realm: access.realm.number)
                }
                return (notifications, tokens)
            }
        } catch {
            return log(failure: error, call: "notify")
        }
        let senderHash = sender.map { Digest.sha256($0) }
        var count = 0
        for (user, notification) in notifications {
            for token in tokens[user] ?? [] where token != senderHash {
                couriers.post(notification, to: token)
                count += 1
            }
        }
        metrics.countNotifications(count)
    }

    private func notifications(
        _ row: SubscriptionRow, _ changes: [Change], _ zoneName: String, _ access: DatabaseAccess
    ) throws -> [(user: String, CourierNotification)] {
        let subscription = row.subscription
        let id = subscription.subscriptionID ?? ""
        if subscription.kind == .zone {
            guard subscription.zoneID?.zoneName == zoneName else { return [] }
            let payload = payload(access) { json in
                json.object("fet") { json in
                    json.member("sid", id)
                    json.member("zid", zoneName)
                    json.member("zoid", access.ownerRecordName)
                }
            }
            let subject = "fet \(access.realm.number) \(id)"
            return [(row.userRecordName, CourierNotification(subject: subject, payload: payload))]
        }
        guard let query = subscription.query else { return [] }
        if let zone = subscription.zoneID, zone.zoneName != zoneName { return [] }
        let evaluator = FilterEvaluator(filters: query.filters)
        return try changes.compactMap { change in
            guard change.record.recordType == query.recordType,
                subscription.firesOn?.contains(change.kind.name) ?? true
            else { return nil }
            let record = try QueriedRecord(change.record, zoneName: zoneName)
            // Of a deleted record nothing is left that could be compared.
            guard try change.kind == .deleted || evaluator.matches(record) else { return nil }
            let payload = payload(access) { json in
                json.object("qry") { json in
                    json.member("sid", id)
                    json.member("zid", zoneName)
                    json.member("zoid", access.ownerRecordName)
                    json.member("rid", change.record.recordName)
                    json.member("fo", integer: change.kind.rawValue)
                    if access.isPublic { json.member("dbs", integer: 0) }
                }
            }
            let subject = "qry \(access.realm.number) \(id) \(change.record.recordName)"
            return (row.userRecordName, CourierNotification(subject: subject, payload: payload))
        }
    }

    private func payload(
        _ access: DatabaseAccess, _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.object("aps") { $0.member("content-available", integer: 1) }
            json.object("ck") { json in
                json.member("nid", configuration.clock.secret(16).hexadecimal)
                json.member("cid", access.realm.container)
                members(&json)
            }
        }
        return json.bytes
    }
}

extension HubReading {
    /// The hashes of the tokens of a user's devices.
    func pushTokens(of user: String, realm: UInt32) throws -> [[UInt8]] {
        let prefix = PushTokenRow.prefix(realm: realm, user: user)
        var tokens: [[UInt8]] = []
        try scan(prefix, from: nil) { key, value in
            if value.elementsEqual(user.utf8) { tokens.append(Array(key[prefix.bytes.count...])) }
            return true
        }
        return tokens
    }
}
