import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct HappyPathTests {
    @Test func `a record written by one device arrives at another`() async throws {
        let cloud = SimulatedCloud()
        let phone = cloud.connection(user: "u", device: "phone")
        let laptop = cloud.connection(user: "u", device: "laptop")
        let zone = ZoneID("notes")
        try await phone.createZone(zone)
        let results = try await phone.modifyRecords(
            [.create(recordName: "a", recordType: "Note", fields: ["title": .string("Hi")])],
            in: zone, atomic: true)
        let database = try await laptop.databaseChanges(since: nil)
        #expect(database.changedZones == [zone])
        let page = try await laptop.zoneChanges(in: zone, since: nil, limit: 10, fields: nil)
        #expect(page.records.map(\.recordName) == ["a"])
        #expect(page.moreComing == false)
        let record = try #require(page.records.first)
        let saved = ModificationResult.saved(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
        #expect(results == [saved])
        let found = try await laptop.lookUpRecords(["a", "b"], in: zone)
        #expect(found == [.found(record), .notFound])
        #expect(try await laptop.currentUser() == "u")
    }
}
