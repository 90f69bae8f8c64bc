import CloudKitWire

extension ZoneCalls {
    /// Makes and deletes zones: `zones/modify`. A zone that is there already counts as made.
    func modifyZones(
        _ request: ModifyZonesRequest, _ call: HubCall, _ access: DatabaseAccess
    ) async throws -> HubResponse {
        _ = try access.requiredAuthor
        guard access.hasCustomZones else {
            throw WireError(.badRequest, "Zones can be made in private databases only.")
        }
        try configuration.limits.checkCount(request.operations.count)
        let (limits, assets, now) = (configuration.limits, assets, configuration.now)
        let response = try await feeds.write(to: access.partition) { own in
            try await storage.write(
                call.work, to: [access.partition],
                expecting: {
                    access.expected(zones: []) + ZoneWriter.expected(in: access.partition) + [
                        access.expectedZones(limits), .key(FeedHistory.key(access.partition)),
                        .first(
                            limits.subscriptionsPerUser + 1,
                            of: SubscriptionRow.prefix(access.partition)),
                    ]
                }
            ) { transaction in
                let state = try transaction.state()
                let before = try transaction.database(access).sequence
                var room = try ZoneRoom(
                    left: limits.zonesPerDatabase - transaction.zoneCount(access))
                let items = try request.operations.map { operation -> WireItem<WireZone> in
                    do {
                        let zone = try Self.modify(
                            operation, access, transaction, now: now, limits, &room)
                        let database = try transaction.database(access)
                        return .value(zone.wireZone(database, access, state))
                    } catch let error as WireError {
                        return .failure(.zone(operation.zoneID), error)
                    }
                }
                let deleted = items.compactMap { item -> String? in
                    guard case .value(let zone) = item, zone.isDeleted else { return nil }
                    return zone.zoneID.zoneName
                }
                try transaction.deleteSubscriptions(toZones: Set(deleted), of: access)
                try ZoneWriter(
                    transaction: transaction, partition: access.partition, now: now, limits: limits,
                    assets: assets
                ).removeEndedZones()
                let after = try transaction.database(access).sequence
                own.begin(FeedStep(database: before..<after))
                return ZonesResponse(zones: items)
            }
        }
        // Nothing of the zones' records changed, so that those alone hear of it who listen to the database.
        let names = response.zones.compactMap { item -> String? in
            guard case .value(let zone) = item else { return nil }
            return zone.zoneID.zoneName
        }
        notifier.notify(of: [], in: names, access, sender: call.pushToken, call.work)
        return .json(response.body())
    }

    /// How many zones more a database may have.
    private struct ZoneRoom {
        /// The rows that it may have beside those that are there.
        var left: Int
        /// How far the list of changed zones was searched for zones that were deleted.
        var position: UInt64 = 0
    }

    private static func modify(
        _ operation: ModifyZonesRequest.Operation, _ access: DatabaseAccess,
        _ transaction: any HubWriting, now: Int64, _ limits: HubLimits, _ room: inout ZoneRoom
    ) throws -> ZoneRow {
        let id = operation.zoneID
        switch operation.kind {
        case .create:
            guard access.owns(id) else {
                throw WireError(.accessDenied, "The zone is another user's.")
            }
            guard id.isValid else {
                throw WireError(
                    .badRequest,
                    "A zone name has 1 to 255 ASCII characters and starts with no underscore.")
            }
            var database = try transaction.database(access)
            let known: ZoneRow? = try transaction.row(
                ZoneRow.key(access.partition, id.zoneName))
            if let known, !known.isDeleted { return known }
            if known == nil, room.left > 0 {
                room.left -= 1
            } else if known == nil {
                guard
                    try transaction.forgetDeletedZone(
                        after: &room.position, in: &database, access, limits)
                else {
                    throw WireError(
                        .limitExceeded,
                        "The database has as many zones as it can have. Delete one first.")
                }
            }
            return try transaction.makeZone(
                id.zoneName, in: &database, access, now: now, limits)
        case .delete:
            var zone = try transaction.zone(id, access)
            guard !zone.isDefault else {
                throw WireError(.badRequest, "The default zone can't be deleted.")
            }
            try transaction.deleteZone(zone, access, now: now, limits)
            zone.isDeleted = true
            return zone
        }
    }
}
