import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkConflicts() async throws(ServiceError) {
        let old = try await create("a", ["x": .int64(1), "y": .string("y")])
        let update = RecordModification.update(
            recordName: "a", recordType: "T", changeTag: old, fields: ["x": .int64(2)])
        _ = try Self.tag(of: try await modify(update))
        let current = try await record("a")
        for tag in [old, "", "no tag", String(repeating: "t", count: 300)] {
            let refused: [RecordModification] = [
                .update(
                    recordName: "a", recordType: "T", changeTag: tag, fields: ["x": .int64(3)]),
                .delete(recordName: "a", changeTag: tag),
            ]
            for operation in refused {
                let result = try await modify(operation)
                expect(result, failed: .conflict, "the tag '\(tag.prefix(20))'")
                expectServerRecord(of: result, current)
            }
        }
        let create = RecordModification.create(
            recordName: "a", recordType: "T", fields: ["x": .int64(4)])
        expectServerRecord(of: try await modify(create), current)
        expect(try await record("a") == current, "what is refused changes nothing")
        expect(
            try await modify(
                .update(
                    recordName: "a", recordType: "Other", changeTag: current?.changeTag ?? "",
                    fields: [:])),
            failed: .invalidRequest, "an update of another record type")
        let atomic = try await modify(
            [update, .create(recordName: "b", recordType: "T", fields: [:])], atomic: true)
        expect(atomic.first, failed: .conflict, "a conflict in an atomic batch")
        if let result = atomic.first { expectServerRecord(of: result, current) }
        expect(atomic.last, failed: .batchFailed, "what is beside a conflict in an atomic batch")
    }

    /// A service may keep the record of a conflict to itself; one that it tells is the whole truth.
    private mutating func expectServerRecord(
        of result: ModificationResult, _ current: ServiceRecord?
    ) {
        guard case .failed(let error) = result, let told = error.serverRecord else { return }
        expect(told == current, "the record told with a failure is the one that is there")
    }

    mutating func checkLives() async throws(ServiceError) {
        var tags: Set<String> = []
        var last: Int64 = .min
        var token: String?
        for life in 0..<3 {
            let type = "Type\(life)"
            let created = try await modify(
                .create(recordName: "a", recordType: type, fields: ["f\(life)": .int64(1)]))
            let tag = try Self.tag(of: created)
            expect(tags.insert(tag).inserted, "a tag never comes again")
            let found = try await record("a")
            expect(
                found?.recordType == type && found?.fields == ["f\(life)": .int64(1)],
                "a record created again has nothing of the one before")
            expect((found?.modifiedMilliseconds ?? .min) >= last, "time does not go back")
            if case .saved(_, let milliseconds) = created {
                expect(
                    found?.modifiedMilliseconds == milliseconds, "reply and record tell one time")
            }
            last = found?.modifiedMilliseconds ?? last
            let page = try await page(since: token)
            expect(page.records == [found].compactMap { $0 }, "the feed tells the new record")
            expect(page.deletions.isEmpty, "a record that is there is not told as deleted")
            for old in tags where old != tag {
                expect(
                    try await modify(.delete(recordName: "a", changeTag: old)), failed: .conflict,
                    "delete with a tag of an earlier life")
            }
            expect(
                try await modify(.delete(recordName: "a", changeTag: tag)) == .deleted, "delete")
            expect(
                try await modify(.delete(recordName: "a", changeTag: tag)), failed: .unknownItem,
                "delete for the second time")
            let after = try await self.page(since: page.token)
            expect(after.deletions.map(\.recordName) == ["a"], "the end is told once")
            token = after.token
        }
        let names = ["a b", "a/b", "a.b", "a%2F", "..", "~!@#$^&*()", "A", "0"]
        for name in names { _ = try await create(name) }
        for name in names {
            expect(try await record(name)?.recordName == name, "the record name '\(name)'")
        }
        expect(try await record("a") == nil, "names of records are told apart by case")
    }

    mutating func checkLookups() async throws(ServiceError) {
        try await createMany(["a", "b", "c"])
        let results = try await service.lookUpRecords(["c", "none", "a"], in: zone)
        let found = results.map { result -> String? in
            if case .found(let record) = result { record.recordName } else { nil }
        }
        expect(found == ["c", nil, "a"], "each name is answered in its place")
        let twice = try await service.lookUpRecords(["b", "b"], in: zone)
        expect(
            twice.count == 2 && twice.first == twice.last, "a name that comes twice is answered so")
        for name in ["", "_a", "ä", String(repeating: "a", count: 256)] {
            expect(try await record(name) == nil, "nothing is found under '\(name.prefix(9))'")
        }
        expect(try await service.lookUpRecords([], in: zone).isEmpty, "a lookup of nothing")
        let limit = await service.limits.operationsPerRequest
        let many = (0..<limit).map { "n\($0)" }
        expect(
            try await service.lookUpRecords(many, in: zone).count == limit, "a lookup of the most")
        let (service, zone) = (service, zone)
        await expect(throws: .limitExceeded, "a lookup of one name too many") {
            () async throws(ServiceError) in
            _ = try await service.lookUpRecords(many + ["one"], in: zone)
        }
    }
}
