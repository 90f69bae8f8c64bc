import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkReferences() async throws(ServiceError) {
        let validating = Self.child("child", of: "parent", .validate)
        expect(
            try await modify(validating), failed: .referenceViolation,
            "a validating reference to nothing")
        let both = try await modify(
            [validating, .create(recordName: "parent", recordType: "T", fields: [:])], atomic: true)
        expect(
            both.allSatisfy { if case .saved = $0 { true } else { false } },
            "a validating reference to a record created after it in the same request")
        expect(
            try await delete("parent"), failed: .referenceViolation,
            "delete of a record with a validating reference to it")
        expect(try await delete("child") == .deleted, "delete of a record that refers")
        expect(try await delete("parent") == .deleted, "delete once nothing refers any more")

        _ = try await create("root")
        _ = try await modify([
            Self.child("leaf", of: "branch", .deleteSelf),
            Self.child("branch", of: "root", .deleteSelf),
            Self.child("friend", of: "root", .none),
        ])
        let token = try await self.pages(since: nil, limit: 100).last?.token
        expect(try await delete("root") == .deleted, "delete of the root of a tree")
        expect(try await record("leaf") == nil, "DELETE_SELF cascades, level by level")
        expect(try await record("friend") != nil, "NONE does nothing")
        let pages = try await pages(since: token, limit: 100)
        let gone = pages.flatMap { $0.deletions.map(\.recordName) }
        expect(
            Set(gone) == ["root", "branch", "leaf"] && gone.count == 3,
            "what a cascade deletes comes in the feed")

        _ = try await modify([
            Self.child("x", of: "y", .deleteSelf), Self.child("y", of: "x", .deleteSelf),
        ])
        expect(try await delete("x") == .deleted, "delete in a cycle")
        expect(try await record("y") == nil, "DELETE_SELF goes round a cycle")
    }

    private static func child(
        _ name: String, of parent: String, _ action: ServiceReference.Action
    ) -> RecordModification {
        let reference = ServiceReference(recordName: parent, action: action)
        return .create(
            recordName: name, recordType: "T", fields: ["parent": .reference(reference)])
    }

    mutating func checkSetUp() async throws(ServiceError) {
        _ = try await create("a")
        try await service.createZone(zone)
        expect(try await record("a") != nil, "a zone created again keeps its records")
        try await service.createSubscription("s-\(zone.zoneName)", to: zone)
        try await service.createSubscription("s-\(zone.zoneName)", to: zone)
        expect(try await !service.currentUser().isEmpty, "there is a user")
        let before = try await databaseChanges(since: nil)
        expect(before.changedZones.contains(zone), "a new zone is among the changed ones")
        let token = try await page(since: nil).token
        try await service.deleteZone(zone)
        let after = try await databaseChanges(since: before.token)
        expect(after.endedZones[zone] == .deleted, "a deleted zone is among the ended ones")
        let (probe, service, zone) = (self, service, zone)
        await expect(throws: .zoneNotFound, "delete of a zone that is not there") {
            () async throws(ServiceError) in try await service.deleteZone(zone)
        }
        try await service.createZone(zone)
        expect(try await record("a") == nil, "a zone created after its end is empty")
        await expect(throws: .tokenExpired, "a token of the zone that ended") {
            () async throws(ServiceError) in _ = try await probe.page(since: token)
        }
    }

    mutating func checkUnknownZone() async throws(ServiceError) {
        let (probe, service, zone) = (self, service, zone)
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        await expect(throws: .zoneNotFound, "modify in a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.modify([create])
        }
        await expect(throws: .zoneNotFound, "lookup in a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.record("a")
        }
        await expect(throws: .zoneNotFound, "changes of a zone that is not there") {
            () async throws(ServiceError) in _ = try await probe.page(since: nil)
        }
        await expect(throws: .zoneNotFound, "subscription to a zone that is not there") {
            () async throws(ServiceError) in try await service.createSubscription("s", to: zone)
        }
        await expect(throws: .zoneNotFound, "delete of a zone that is not there") {
            () async throws(ServiceError) in try await service.deleteZone(zone)
        }
    }
}
