import BackstitchCore
import BackstitchSync

/// Zones that are made, ended and made again, or belong to others.
struct ZoneConformance {
    let probe: ConformanceProbe

    func setUp() async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        _ = try await probe.create("a")
        try await service.createZone(zone)
        probe.expect(try await probe.record("a") != nil, "a zone created again keeps its records")
        try await service.createSubscription("s-\(zone.zoneName)", to: zone)
        try await service.createSubscription("s-\(zone.zoneName)", to: zone)
        probe.expect(try await !service.currentUser().isEmpty, "there is a user")
        let before = try await probe.databaseChanges(since: nil)
        probe.expect(before.changedZones.contains(zone), "a new zone is among the changed ones")
        let token = try await probe.page(since: nil).token
        try await service.deleteZone(zone)
        let after = try await probe.databaseChanges(since: before.token)
        probe.expect(after.endedZones[zone] == .deleted, "a deleted zone is among the ended ones")
        await probe.expect(throws: .zoneNotFound, "delete of a zone that is not there") {
            () async throws(ServiceError) in try await service.deleteZone(zone)
        }
        try await service.createZone(zone)
        probe.expect(try await probe.record("a") == nil, "a zone created after its end is empty")
        await probe.expect(throws: .tokenExpired, "a token of the zone that ended") {
            () async throws(ServiceError) in _ = try await probe.page(since: token)
        }
    }

    func unknownZone() async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        await probe.expect(throws: .zoneNotFound, "modify in a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.modify([create])
        }
        await probe.expect(throws: .zoneNotFound, "lookup in a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.record("a")
        }
        await probe.expect(throws: .zoneNotFound, "changes of a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.page(since: nil)
        }
        await probe.expect(throws: .zoneNotFound, "subscription to a zone that is not there") {
            () async throws(ServiceError) in try await service.createSubscription("s", to: zone)
        }
        await probe.expect(throws: .zoneNotFound, "delete of a zone that is not there") {
            () async throws(ServiceError) in try await service.deleteZone(zone)
        }
    }

    func zoneLives(otherZone: ZoneID) async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        let start = try await probe.databaseChanges(since: nil).token
        var old: [String] = []
        for life in 0..<3 {
            let tag = try await probe.create("a", ["life": .int64(Int64(life))])
            try await service.createSubscription("s-\(zone.zoneName)", to: zone)
            let token = try await probe.page(since: nil).token
            for token in old {
                await probe.expect(throws: .tokenExpired, "a token of an earlier life of a zone") {
                    () async throws(ServiceError) in _ = try await probe.page(since: token)
                }
            }
            old.append(token)
            let before = try await probe.databaseChanges(since: start)
            probe.expect(
                before.changedZones == [zone] && before.endedZones[zone] == nil,
                "a zone created again is told as changed, once, and not as ended")
            try await service.deleteZone(zone)
            let after = try await probe.databaseChanges(since: before.token)
            probe.expect(
                after.endedZones == [zone: .deleted] && after.changedZones.isEmpty,
                "the end of a zone is told")
            await probe.expect(throws: .zoneNotFound, "the feed of an ended zone") {
                () async throws(ServiceError) in _ = try await probe.page(since: token)
            }
            await probe.expect(throws: .zoneNotFound, "a write to an ended zone") {
                () async throws(ServiceError) in
                _ = try await probe.modify(.delete(recordName: "a", changeTag: tag))
            }
            await probe.expect(throws: .zoneNotFound, "a subscription to an ended zone") {
                () async throws(ServiceError) in
                try await service.createSubscription("s-\(zone.zoneName)", to: zone)
            }
            try await service.createZone(zone)
            let empty = try await probe.page(since: nil)
            probe.expect(
                empty.records.isEmpty && empty.deletions.isEmpty && !empty.moreComing,
                "a zone created again has no records and no deletions")
            probe.expect(
                try await probe.modify(
                    .update(recordName: "a", recordType: "T", changeTag: tag, fields: [:])),
                failed: .unknownItem, "a tag of an earlier life of a zone")
        }
        try await service.createZone(otherZone)
        let both = try await probe.databaseChanges(since: start)
        probe.expect(
            both.changedZones == [zone, otherZone], "zones come in the order of their changes")
        _ = try await probe.create("late")
        probe.expect(
            try await probe.databaseChanges(since: both.token).changedZones == [zone],
            "only what changed since comes")
        probe.expect(
            try await probe.databaseChanges(since: start).changedZones == [otherZone, zone],
            "a zone comes once, at its last change")
        let user = try await service.currentUser()
        probe.expect(try await service.currentUser() == user, "the user stays the same")
    }

    func foreignZones() async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        _ = try await probe.create("a")
        let own = try await service.currentUser()
        let named = ZoneID(zone.zoneName, ownerName: own)
        let found = try await service.lookUpRecords(["a"], in: named)
        if case .found? = found.first {} else { probe.expect(false, "the owner may be named") }
        let create = RecordModification.create(recordName: "b", recordType: "T", fields: [:])
        for owner in ["_0123456789abcdef0123456789abcdef", "", "..", "ä"] {
            let foreign = ZoneID(zone.zoneName, ownerName: owner)
            await probe.expect(throws: .permissionDenied, "a zone made for '\(owner)'") {
                () async throws(ServiceError) in try await service.createZone(foreign)
            }
            await probe.expect(throws: .zoneNotFound, "a write to a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.modifyRecords([create], in: foreign, atomic: false)
            }
            await probe.expect(throws: .zoneNotFound, "a lookup in a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.lookUpRecords(["a"], in: foreign)
            }
            await probe.expect(throws: .zoneNotFound, "the feed of a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.zoneChanges(in: foreign, since: nil, limit: 1, fields: nil)
            }
            await probe.expect(throws: .zoneNotFound, "the end of a zone of '\(owner)'") {
                () async throws(ServiceError) in try await service.deleteZone(foreign)
            }
        }
        let longest = String(repeating: "z", count: 255)
        for name in ["", "_z", "ä", "a\u{0}b", "a\nb", longest + "z"] {
            let zone = ZoneID(name)
            await probe.expect(throws: .invalidRequest, "the zone name '\(name.prefix(9))'") {
                () async throws(ServiceError) in try await service.createZone(zone)
            }
            await probe.expect(throws: .zoneNotFound, "a lookup in the zone '\(name.prefix(9))'") {
                () async throws(ServiceError) in
                _ = try await service.lookUpRecords(["a"], in: zone)
            }
        }
        for name in [longest, "a b/c?d=e&f#g", zone.zoneName.uppercased() + "~"] {
            try await service.createZone(ZoneID(name))
            let found = try await service.lookUpRecords(["a"], in: ZoneID(name))
            probe.expect(found == [.notFound], "zones are told apart by name")
        }
    }
}
