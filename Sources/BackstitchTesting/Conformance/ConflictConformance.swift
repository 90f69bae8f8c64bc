import BackstitchCore
import BackstitchSync

/// Tags that are not the record's, and what stays of a record after its end.
struct ConflictConformance {
    let probe: ConformanceProbe

    func conflicts() async throws(ServiceError) {
        let old = try await probe.create("a", ["x": .int64(1), "y": .string("y")])
        let update = RecordModification.update(
            recordName: "a", recordType: "T", changeTag: old, fields: ["x": .int64(2)])
        _ = try probe.tag(of: try await probe.modify(update))
        let current = try await probe.record("a")
        for tag in [old, "", "no tag", String(repeating: "t", count: 300)] {
            let refused: [RecordModification] = [
                .update(
                    recordName: "a", recordType: "T", changeTag: tag, fields: ["x": .int64(3)]),
                .delete(recordName: "a", changeTag: tag),
            ]
            for operation in refused {
                let result = try await probe.modify(operation)
                probe.expect(result, failed: .conflict, "the tag '\(tag.prefix(20))'")
                expectServerRecord(of: result, current)
            }
        }
        let create = RecordModification.create(
            recordName: "a", recordType: "T", fields: ["x": .int64(4)])
        expectServerRecord(of: try await probe.modify(create), current)
        probe.expect(try await probe.record("a") == current, "what is refused changes nothing")
        probe.expect(
            try await probe.modify(
                .update(
                    recordName: "a", recordType: "Other", changeTag: current?.changeTag ?? "",
                    fields: [:])),
            failed: .invalidRequest, "an update of another record type")
        let atomic = try await probe.modify(
            [update, .create(recordName: "b", recordType: "T", fields: [:])], atomic: true)
        probe.expect(atomic.first, failed: .conflict, "a conflict in an atomic batch")
        if let result = atomic.first { expectServerRecord(of: result, current) }
        probe.expect(
            atomic.last, failed: .batchFailed, "what is beside a conflict in an atomic batch")
    }

    /// A service may keep the record of a conflict to itself; one that it tells is the whole truth.
    private func expectServerRecord(
        of result: ModificationResult, _ current: ServiceRecord?
    ) {
        guard case .failed(let error) = result, let told = error.serverRecord else { return }
        probe.expect(told == current, "the record told with a failure is the one that is there")
    }

    func lives() async throws(ServiceError) {
        var tags: Set<String> = []
        var last: Int64 = .min
        var token: String?
        for life in 0..<3 {
            let type = "Type\(life)"
            let created = try await probe.modify(
                .create(recordName: "a", recordType: type, fields: ["f\(life)": .int64(1)]))
            let tag = try probe.tag(of: created)
            probe.expect(tags.insert(tag).inserted, "a tag never comes again")
            let found = try await probe.record("a")
            probe.expect(
                found?.recordType == type && found?.fields == ["f\(life)": .int64(1)],
                "a record created again has nothing of the one before")
            probe.expect((found?.modifiedMilliseconds ?? .min) >= last, "time does not go back")
            if case .saved(_, let milliseconds) = created {
                probe.expect(
                    found?.modifiedMilliseconds == milliseconds, "reply and record tell one time")
            }
            last = found?.modifiedMilliseconds ?? last
            let page = try await probe.page(since: token)
            probe.expect(page.records == [found].compactMap { $0 }, "the feed tells the new record")
            probe.expect(page.deletions.isEmpty, "a record that is there is not told as deleted")
            for old in tags where old != tag {
                probe.expect(
                    try await probe.modify(.delete(recordName: "a", changeTag: old)),
                    failed: .conflict,
                    "delete with a tag of an earlier life")
            }
            probe.expect(
                try await probe.modify(.delete(recordName: "a", changeTag: tag)) == .deleted,
                "delete")
            probe.expect(
                try await probe.modify(.delete(recordName: "a", changeTag: tag)),
                failed: .unknownItem,
                "delete for the second time")
            let after = try await probe.page(since: page.token)
            probe.expect(after.deletions.map(\.recordName) == ["a"], "the end is told once")
            token = after.token
        }
        let names = ["a b", "a/b", "a.b", "a%2F", "..", "~!@#$^&*()", "A", "0"]
        for name in names { _ = try await probe.create(name) }
        for name in names {
            probe.expect(
                try await probe.record(name)?.recordName == name, "the record name '\(name)'")
        }
        probe.expect(try await probe.record("a") == nil, "names of records are told apart by case")
    }

    func lookups() async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        try await probe.createMany(["a", "b", "c"])
        let results = try await service.lookUpRecords(["c", "none", "a"], in: zone)
        let found = results.map { result -> String? in
            if case .found(let record) = result { record.recordName } else { nil }
        }
        probe.expect(found == ["c", nil, "a"], "each name is answered in its place")
        let twice = try await service.lookUpRecords(["b", "b"], in: zone)
        probe.expect(
            twice.count == 2 && twice.first == twice.last, "a name that comes twice is answered so")
        for name in ["", "_a", "ä", String(repeating: "a", count: 256)] {
            probe.expect(
                try await probe.record(name) == nil, "nothing is found under '\(name.prefix(9))'")
        }
        probe.expect(try await service.lookUpRecords([], in: zone).isEmpty, "a lookup of nothing")
        let limit = await service.limits.operationsPerRequest
        let many = (0..<limit).map { "n\($0)" }
        probe.expect(
            try await service.lookUpRecords(many, in: zone).count == limit, "a lookup of the most")
        await probe.expect(throws: .limitExceeded, "a lookup of one name too many") {
            () async throws(ServiceError) in
            _ = try await service.lookUpRecords(many + ["one"], in: zone)
        }
    }
}
