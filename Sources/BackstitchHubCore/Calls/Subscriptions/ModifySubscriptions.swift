import BackstitchCore
import CloudKitWire

extension SubscriptionCalls {
    /// Makes, changes and deletes subscriptions: `subscriptions/modify`.
    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, _ call: HubCall, _ access: DatabaseAccess
    ) async throws -> HubResponse {
        let user = try access.requiredAuthor
        try configuration.limits.checkCount(request.operations.count)
        let newIDs = request.operations.map { _ in configuration.clock.uuid() }
        let limits = configuration.limits
        return try await once.write(
            call, access,
            expecting: {
                let prefix = SubscriptionRow.prefix(access.partition, user: user)
                return access.expected(zones: request.operations.compactMap(\.zoneID))
                    + [.first(limits.subscriptionsPerUser + 1, of: prefix)]
            }
        ) { transaction in
            var room =
                try limits.subscriptionsPerUser
                - transaction.subscriptionCount(of: user, access)
            let items = try zip(request.operations, newIDs).map { operation, newID in
                do {
                    let done = try Self.modify(
                        operation, newID, user, access, transaction, limits, room: &room)
                    return WireItem<WireSubscription>.value(done)
                } catch let error as WireError {
                    return .failure(.subscription(operation.subscriptionID), error)
                }
            }
            return SubscriptionsResponse(subscriptions: items).body()
        }
    }

    private static func modify(
        _ operation: ModifySubscriptionsRequest.Operation, _ newID: String, _ user: String,
        _ access: DatabaseAccess, _ transaction: any HubWriting, _ limits: HubLimits,
        room: inout Int
    ) throws -> WireSubscription {
        func key(_ id: String) throws(WireError) -> HubKey {
            guard ServiceNames.isRecordName(id) else {
                throw WireError(.badRequest, "A subscriptionID has 1 to 255 ASCII characters.")
            }
            return SubscriptionRow.key(access.partition, user: user, id)
        }
        switch operation {
        case .create(var subscription), .update(var subscription):
            let id = subscription.subscriptionID ?? newID
            subscription.subscriptionID = id
            if case .update = operation, try transaction.value(key(id)) == nil {
                throw WireError(.notFound, "Subscription not found")
            }
            try check(subscription, access, transaction)
            let known: SubscriptionRow? = try transaction.row(try key(id))
            if case .create = operation, let known, known.userRecordName == user,
                known.subscription.zoneID?.zoneName != subscription.zoneID?.zoneName
            {
                throw WireError(.badRequest, "A subscription of this id is about something else.")
            }
            let row = SubscriptionRow(userRecordName: user, subscription: subscription)
            try check(row, isNew: known == nil, limits, room: &room)
            try transaction.put(try key(id), row)
            return subscription
        case .delete(let id):
            guard let row: SubscriptionRow = try transaction.row(try key(id)) else {
                throw WireError(.notFound, "Subscription not found")
            }
            try transaction.delete(try key(id))
            room += 1
            return row.subscription
        }
    }

    /// Refuses a subscription that is too large, or one too many.
    private static func check(
        _ row: SubscriptionRow, isNew: Bool, _ limits: HubLimits, room: inout Int
    ) throws(WireError) {
        let bytes = row.body().count
        guard bytes <= limits.subscriptionBytes else {
            throw WireError(
                .limitExceeded,
                "The subscription has \(bytes) bytes of \(limits.subscriptionBytes).")
        }
        guard (row.subscription.query?.filters.count ?? 0) <= limits.filtersPerQuery else {
            throw WireError(
                .limitExceeded, "A query has at most \(limits.filtersPerQuery) filters.")
        }
        guard isNew else { return }
        guard room > 0 else {
            throw WireError(
                .limitExceeded,
                "There are \(limits.subscriptionsPerUser) subscriptions already. Delete some.")
        }
        room -= 1
    }

    private static func check(
        _ subscription: WireSubscription, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws {
        if let failure = subscription.queryFailure {
            throw WireError(.badRequest, failure.message)
        }
        if let query = subscription.query {
            guard ServiceNames.isIdentifier(query.recordType) else {
                throw WireError(
                    .badRequest, "A recordType starts with a letter and has letters, digits and _.")
            }
            _ = try FilterEvaluator(filters: query.filters)
        }
        switch subscription.kind {
        case .zone:
            guard !access.isPublic else {
                throw WireError(.badRequest, "The public database has no zone subscriptions.")
            }
            guard let zone = subscription.zoneID else {
                throw WireError(.badRequest, "A subscription of type zone takes a zoneID.")
            }
            _ = try transaction.zone(zone, access)
        case .database:
            guard !access.isPublic else {
                throw WireError(.badRequest, "The public database has no database subscriptions.")
            }
        case .query:
            guard subscription.query != nil else {
                throw WireError(.badRequest, "A subscription of type query takes a query.")
            }
            if let zone = subscription.zoneID { _ = try transaction.zone(zone, access) }
        }
        let unknown = subscription.firesOn?.first { RecordChange.Kind(name: $0) == nil }
        if let unknown {
            throw WireError(
                .badRequest, "firesOn takes create, update and delete, and not '\(unknown)'.")
        }
        do throws(WireFormatError) {
            _ = try subscription.notificationInfo.map(WireNotificationInfo.init(_:))
        } catch {
            throw WireError(.badRequest, error.message)
        }
    }
}

extension ModifySubscriptionsRequest.Operation {
    /// The zone that it is about, if it has to be there.
    fileprivate var zoneID: WireZoneID? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.zoneID
        case .delete: nil
        }
    }

    /// The id of the subscription; nil if it has none yet.
    fileprivate var subscriptionID: String? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.subscriptionID
        case .delete(let id): id
        }
    }
}
