import BackstitchCore
import BackstitchSync

/// Requests with several operations, and parts of records.
struct BatchConformance {
    let probe: ConformanceProbe

    func batches() async throws(ServiceError) {
        probe.expect(try await probe.modify([]).isEmpty, "a request of nothing")
        probe.expect(
            try await probe.modify([], atomic: true).isEmpty, "an atomic request of nothing")
        let tag = try await probe.create("a", ["x": .int64(1)])
        let mixed: [RecordModification] = [
            .create(recordName: "b", recordType: "T", fields: [:]),
            .update(recordName: "a", recordType: "T", changeTag: tag, fields: ["x": .int64(2)]),
            .delete(recordName: "none", changeTag: tag),
        ]
        let atomic = try await probe.modify(mixed, atomic: true)
        probe.expect(atomic.first, failed: .batchFailed, "a create beside a failure")
        probe.expect(atomic.dropFirst().first, failed: .batchFailed, "an update beside a failure")
        probe.expect(atomic.last, failed: .unknownItem, "the failure")
        let token = try await probe.pages(since: nil, limit: 100).last?.token
        let loose = try await probe.modify(mixed)
        probe.expect(
            loose.count == 3 && loose.prefix(2).allSatisfy(\.isSaved), "all others are done")
        probe.expect(loose.last, failed: .unknownItem, "the failure of a loose batch")
        let page = try await probe.pages(since: token, limit: 100)
        probe.expect(
            page.flatMap { $0.records.map(\.recordName) } == ["b", "a"],
            "the feed has the order of the operations")

        let culprits: [RecordModification] = [
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "c", recordType: "T", fields: [:]),
            .update(recordName: "a b", recordType: "T", changeTag: tag, fields: [:]),
        ]
        let blamed = try await probe.modify(culprits, atomic: true)
        probe.expect(blamed.first, failed: .alreadyExists, "the first of two culprits")
        probe.expect(blamed.dropFirst().first, failed: .batchFailed, "the innocent between them")
        probe.expect(blamed.last, failed: .unknownItem, "the second of two culprits")
        probe.expect(try await probe.record("c") == nil, "a failed atomic batch creates nothing")

        let current = try await probe.record("a")?.changeTag ?? ""
        let good: [RecordModification] = [
            .update(
                recordName: "a", recordType: "T", changeTag: current, fields: ["x": .int64(3)]),
            .create(recordName: "c", recordType: "T", fields: [:]),
        ]
        probe.expect(
            try await probe.modify(good, atomic: true).allSatisfy(\.isSaved),
            "an atomic batch is done")
        probe.expect(try await probe.record("a")?.fields == ["x": .int64(3)], "and all of it")
        for other in [good[1], .delete(recordName: "a", changeTag: current)] {
            let twice = [
                other,
                .update(
                    recordName: other.recordName, recordType: "T", changeTag: current, fields: [:]),
            ]
            await probe.expect(throws: .invalidRequest, "operations of two kinds for one record") {
                () async throws(ServiceError) in _ = try await probe.modify(twice)
            }
        }
    }

    func sizes() async throws(ServiceError) {
        let service = probe.service
        let limits = await service.limits
        let names = "full".utf8.count + "T".utf8.count + "text".utf8.count
        let most = String(repeating: "x", count: limits.recordBytes - names)
        let tag = try await probe.create("full", ["text": .string(most)])
        probe.expect(
            try await probe.modify(
                .create(recordName: "over", recordType: "T", fields: ["text": .string(most + "x")])),
            failed: .limitExceeded, "a record with one byte too many")
        probe.expect(
            try await probe.modify(
                .update(
                    recordName: "full", recordType: "T", changeTag: tag,
                    fields: ["size": .int64(1)])),
            failed: .limitExceeded, "an update that makes a record too large")
        probe.expect(
            try await probe.record("full")?.fields.keys.sorted() == ["text"],
            "a refused update leaves the record as it was")
        let smaller = try await probe.modify(
            .update(
                recordName: "full", recordType: "T", changeTag: tag,
                fields: ["text": .null, "size": .int64(1)]))
        probe.expect(smaller.isSaved, "an update that makes a record smaller")
        let count = limits.requestBytes / limits.recordBytes + 1
        guard count <= limits.operationsPerRequest else { return }
        let half = ServiceValue.string(String(repeating: "x", count: limits.recordBytes - 100))
        let many = (0..<count).map {
            RecordModification.create(recordName: "m\($0)", recordType: "T", fields: ["t": half])
        }
        do throws(ServiceError) {
            for result in try await probe.modify(many) {
                probe.expect(
                    result, failed: .limitExceeded, "a request with too many bytes, by record")
            }
        } catch {
            probe.expect(
                error.code == .limitExceeded, "a request with too many bytes: found \(error)")
        }
        probe.expect(
            try await probe.record("m0") == nil, "a request with too many bytes writes nothing")
    }

    func desiredFields() async throws(ServiceError) {
        let fields: NamedFields = ["x": .int64(1), "y": .string("y"), "Z": .list([])]
        _ = try await probe.create("a", fields)
        _ = try await probe.create("gone")
        _ = try await probe.delete("gone")
        let wishes: [(Set<String>, [String])] = [
            ([], []), (["x"], ["x"]), (["x", "Z"], ["Z", "x"]), (["none"], []), (["X", "z"], []),
            (["x", "none"], ["x"]), (["x", "y", "Z"], ["Z", "x", "y"]),
        ]
        for (wish, expected) in wishes {
            let page = try await probe.page(since: nil, fields: wish)
            probe.expect(
                page.records.first?.fields.keys.sorted() == expected,
                "the fields \(wish.sorted()) and no others")
            probe.expect(
                page.records.first?.requestedFields == wish, "the wish \(wish.sorted()) is told")
            probe.expect(
                page.deletions.map(\.recordName) == ["gone"], "deletions come with any fields")
        }
        probe.expect(
            try await probe.page(since: nil).records.first?.requestedFields == nil, "no wish, all")
        probe.expect(try await probe.record("a")?.fields == fields, "lookups have all fields")
    }
}
