import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkDamagedTokens() async throws(ServiceError) {
        try await createMany(["a", "b", "c"])
        let token = try await page(since: nil, limit: 1).token
        let database = try await databaseChanges(since: nil).token
        let (probe, service) = (self, service)
        for damaged in Self.damaged(token) {
            await expect(throws: .tokenExpired, "the token '\(damaged.prefix(80))'") {
                () async throws(ServiceError) in _ = try await probe.page(since: damaged)
            }
        }
        for damaged in Self.damaged(database) {
            await expect(throws: .tokenExpired, "the database token '\(damaged.prefix(80))'") {
                () async throws(ServiceError) in
                _ = try await service.databaseChanges(since: damaged)
            }
        }
        for limit in [0, -1, Int.min] {
            await expect(throws: .invalidRequest, "a page of \(limit) behind a token") {
                () async throws(ServiceError) in
                _ = try await probe.page(since: token, limit: limit)
            }
        }
        let again = try await page(since: token, limit: 1)
        expect(
            try await page(since: token, limit: 1) == again,
            "the same token leads to the same page")
        var orders: Set<[String]> = []
        for size in 1...4 {
            orders.insert(
                try await pages(since: nil, limit: size)
                    .flatMap { $0.records.map(\.recordName) })
        }
        expect(
            orders == [["a", "b", "c"]], "the order is that of the writes for pages of any size")
    }

    private static func damaged(_ token: String) -> [String] {
        func changed(at offset: Int) -> String {
            var characters = Array(token)
            characters[offset] = characters[offset] == "1" ? "2" : "1"
            return String(characters)
        }
        return [
            "", " ", "A", "AAAA", "ä", "-", "z-1-1-0-0-0", String(repeating: "A", count: 60),
            String(repeating: "A", count: 5_000), String(token.dropLast()),
            String(token.dropFirst()), String(token.dropLast(4)), token + "A", token + "AAAA",
            token + token, " " + token, token + " ", changed(at: 0),
            changed(at: token.count / 2), changed(at: token.count - 1),
        ]
    }

    mutating func checkZoneLives(otherZone: ZoneID) async throws(ServiceError) {
        let start = try await databaseChanges(since: nil).token
        var old: [String] = []
        let (probe, service, zone) = (self, service, zone)
        for life in 0..<3 {
            let tag = try await create("a", ["life": .int64(Int64(life))])
            try await service.createSubscription("s-\(zone.zoneName)", to: zone)
            let token = try await page(since: nil).token
            for token in old {
                await expect(throws: .tokenExpired, "a token of an earlier life of a zone") {
                    () async throws(ServiceError) in _ = try await probe.page(since: token)
                }
            }
            old.append(token)
            let before = try await databaseChanges(since: start)
            expect(
                before.changedZones == [zone] && before.endedZones[zone] == nil,
                "a zone created again is told as changed, once, and not as ended")
            try await service.deleteZone(zone)
            let after = try await databaseChanges(since: before.token)
            expect(
                after.endedZones == [zone: .deleted] && after.changedZones.isEmpty,
                "the end of a zone is told")
            await expect(throws: .zoneNotFound, "the feed of an ended zone") {
                () async throws(ServiceError) in _ = try await probe.page(since: token)
            }
            await expect(throws: .zoneNotFound, "a write to an ended zone") {
                () async throws(ServiceError) in
                _ = try await probe.modify(.delete(recordName: "a", changeTag: tag))
            }
            await expect(throws: .zoneNotFound, "a subscription to an ended zone") {
                () async throws(ServiceError) in
                try await service.createSubscription("s-\(zone.zoneName)", to: zone)
            }
            try await service.createZone(zone)
            let empty = try await page(since: nil)
            expect(
                empty.records.isEmpty && empty.deletions.isEmpty && !empty.moreComing,
                "a zone created again has no records and no deletions")
            expect(
                try await modify(
                    .update(recordName: "a", recordType: "T", changeTag: tag, fields: [:])),
                failed: .unknownItem, "a tag of an earlier life of a zone")
        }
        try await service.createZone(otherZone)
        let both = try await databaseChanges(since: start)
        expect(both.changedZones == [zone, otherZone], "zones come in the order of their changes")
        _ = try await create("late")
        expect(
            try await databaseChanges(since: both.token).changedZones == [zone],
            "only what changed since comes")
        expect(
            try await databaseChanges(since: start).changedZones == [otherZone, zone],
            "a zone comes once, at its last change")
        let user = try await service.currentUser()
        expect(try await service.currentUser() == user, "the user stays the same")
    }

    mutating func checkForeignZones() async throws(ServiceError) {
        _ = try await create("a")
        let own = try await service.currentUser()
        let service = service
        let named = ZoneID(zone.zoneName, ownerName: own)
        let found = try await service.lookUpRecords(["a"], in: named)
        if case .found? = found.first {} else { expect(false, "the owner may be named") }
        let create = RecordModification.create(recordName: "b", recordType: "T", fields: [:])
        for owner in ["_0123456789abcdef0123456789abcdef", "", "..", "ä"] {
            let foreign = ZoneID(zone.zoneName, ownerName: owner)
            await expect(throws: .permissionDenied, "a zone made for '\(owner)'") {
                () async throws(ServiceError) in try await service.createZone(foreign)
            }
            await expect(throws: .zoneNotFound, "a write to a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.modifyRecords([create], in: foreign, atomic: false)
            }
            await expect(throws: .zoneNotFound, "a lookup in a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.lookUpRecords(["a"], in: foreign)
            }
            await expect(throws: .zoneNotFound, "the feed of a zone of '\(owner)'") {
                () async throws(ServiceError) in
                _ = try await service.zoneChanges(in: foreign, since: nil, limit: 1, fields: nil)
            }
            await expect(throws: .zoneNotFound, "the end of a zone of '\(owner)'") {
                () async throws(ServiceError) in try await service.deleteZone(foreign)
            }
        }
        let longest = String(repeating: "z", count: 255)
        for name in ["", "_z", "ä", "a\u{0}b", "a\nb", longest + "z"] {
            let zone = ZoneID(name)
            await expect(throws: .invalidRequest, "the zone name '\(name.prefix(9))'") {
                () async throws(ServiceError) in try await service.createZone(zone)
            }
            await expect(throws: .zoneNotFound, "a lookup in the zone '\(name.prefix(9))'") {
                () async throws(ServiceError) in
                _ = try await service.lookUpRecords(["a"], in: zone)
            }
        }
        for name in [longest, "a b/c?d=e&f#g", zone.zoneName.uppercased() + "~"] {
            try await service.createZone(ZoneID(name))
            let found = try await service.lookUpRecords(["a"], in: ZoneID(name))
            expect(found == [.notFound], "zones are told apart by name")
        }
    }
}
