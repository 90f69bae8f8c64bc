import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct LargeZoneTests {
    @Test func `ten thousand records are written, changed, and each on one page`() async throws {
        let service = SimulatedRecordService()
        let zone = ZoneID("z")
        try await service.createZone(zone)
        var tags: [String] = []
        let creates = Self.batches { index in
            .create(
                recordName: "record-\(index)-0123456789abcdef", recordType: "Note",
                fields: Self.fields(index))
        }
        for operations in creates {
            let results = try await service.modifyRecords(operations, in: zone, atomic: true)
            for case .saved(let tag, _) in results { tags.append(tag) }
        }
        try #require(tags.count == 10_000)
        let updates = Self.batches { index in
            .update(
                recordName: "record-\(index)-0123456789abcdef", recordType: "Note",
                changeTag: tags[index], fields: ["title": .string("new")])
        }
        for operations in updates {
            let results = try await service.modifyRecords(operations, in: zone, atomic: true)
            let saved = results.count { if case .saved = $0 { true } else { false } }
            #expect(saved == 200)
        }
        var token: String?
        var names: [String] = []
        while true {
            let page = try await service.zoneChanges(
                in: zone, since: token, limit: 200, fields: nil)
            names += page.records.map(\.recordName)
            token = page.token
            if !page.moreComing { break }
        }
        #expect(names.count == 10_000 && Set(names).count == 10_000)
    }

    private static func batches(
        _ operation: (Int) -> RecordModification
    ) -> [[RecordModification]] {
        stride(from: 0, to: 10_000, by: 200).map { start in
            (start..<start + 200).map(operation)
        }
    }

    private static func fields(_ index: Int) -> NamedFields {
        [
            "title": .string("Title \(index)"), "body": .string("Some text"),
            "count": .int64(Int64(index)), "done": .int64(0), "weight": .double(1.5),
            "created": .timestamp(milliseconds: 1_700_000_000_000),
            "parent": .reference(ServiceReference(recordName: "record-0-0123456789abcdef")),
        ]
    }
}
