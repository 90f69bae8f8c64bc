import BackstitchCore
import BackstitchSync

/// Creates, updates and deletes of records, their names, and the limits of a request.
struct RecordConformance {
    let probe: ConformanceProbe

    func tags() async throws(ServiceError) {
        let first = try await probe.create("a", ["title": .string("one")])
        probe.expect(!first.isEmpty, "a record has a change tag")
        probe.expect(
            try await probe.modify(.create(recordName: "a", recordType: "T", fields: [:])),
            failed: .alreadyExists, "create on a record that is there")
        probe.expect(
            try await probe.modify(.create(recordName: "a", recordType: "Other", fields: [:])),
            failed: .alreadyExists, "create of another type on a name that is taken")
        let second = try probe.tag(
            of: try await probe.modify(
                .update(
                    recordName: "a", recordType: "T", changeTag: first,
                    fields: ["title": .string("two")])))
        probe.expect(second != first, "the change tag changes with every write")
        probe.expect(
            try await probe.modify(
                .update(
                    recordName: "a", recordType: "T", changeTag: first,
                    fields: ["title": .string("three")])),
            failed: .conflict, "update with an old tag")
        probe.expect(
            try await probe.record("a")?.fields["title"] == .string("two"),
            "a refused update changes nothing")
        probe.expect(
            try await probe.modify(.delete(recordName: "a", changeTag: first)), failed: .conflict,
            "delete with an old tag")
        probe.expect(try await probe.record("a") != nil, "a refused delete deletes nothing")
        probe.expect(
            try await probe.modify(
                .update(recordName: "b", recordType: "T", changeTag: second, fields: [:])),
            failed: .unknownItem, "update of a record that is not there")
        probe.expect(
            try await probe.modify(.delete(recordName: "b", changeTag: second)),
            failed: .unknownItem,
            "delete of a record that is not there")
        probe.expect(
            try await probe.modify(.delete(recordName: "a", changeTag: second)) == .deleted,
            "delete with the record's tag")
        probe.expect(try await probe.record("a") == nil, "a deleted record is not found")
        probe.expect(
            try await probe.modify(
                .update(recordName: "a", recordType: "T", changeTag: second, fields: [:])),
            failed: .unknownItem, "update of a deleted record")
        let third = try await probe.create("a")
        probe.expect(third != first && third != second, "a record created again has a new tag")
    }

    func fields() async throws(ServiceError) {
        let tag = try await probe.create("a", ["x": .int64(1), "y": .string("y"), "z": .null])
        probe.expect(
            try await probe.record("a")?.fields == ["x": .int64(1), "y": .string("y")],
            "a field created with null is absent")
        let update = RecordModification.update(
            recordName: "a", recordType: "T", changeTag: tag, fields: ["x": .null, "w": .int64(2)])
        _ = try probe.tag(of: try await probe.modify(update))
        probe.expect(
            try await probe.record("a")?.fields == ["y": .string("y"), "w": .int64(2)],
            "update sets the fields given, null clears, others stay")
        let page = try await probe.page(since: nil, fields: ["w"])
        probe.expect(
            page.records.first?.fields == ["w": .int64(2)]
                && page.records.first?.requestedFields == ["w"],
            "a page carries the fields asked for, and says which they are")
        var copy = try await probe.record("a")
        copy?.fields["y"] = .string("changed")
        probe.expect(
            try await probe.record("a")?.fields["y"] == .string("y"),
            "mutating a record returned does not mutate the database")
    }

    func atomicity() async throws(ServiceError) {
        let tag = try await probe.create("a", ["x": .int64(1)])
        let operations: [RecordModification] = [
            .create(recordName: "b", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "c", recordType: "T", fields: [:]),
        ]
        let atomic = try await probe.modify(operations, atomic: true)
        probe.expect(atomic.count == 3, "each operation has an answer")
        probe.expect(atomic.first, failed: .batchFailed, "an innocent of an atomic batch")
        probe.expect(
            atomic.dropFirst().first, failed: .alreadyExists, "the culprit of an atomic batch")
        probe.expect(atomic.last, failed: .batchFailed, "an innocent of an atomic batch")
        probe.expect(
            try await probe.page(since: nil).records.map(\.recordName) == ["a"],
            "a failed atomic batch writes nothing")
        probe.expect(
            try await probe.record("a")?.changeTag == tag, "a failed atomic batch changes no tag")
        let loose = try await probe.modify(operations)
        probe.expect(loose.dropFirst().first, failed: .alreadyExists, "the culprit of a batch")
        probe.expect(
            try await probe.record("b") != nil, "a batch that is not atomic writes what it can")
        probe.expect(
            try await probe.record("c") != nil, "a batch that is not atomic goes on after a failure"
        )
    }

    func duplicates() async throws(ServiceError) {
        let twice: [RecordModification] = [
            .create(recordName: "b", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
        ]
        for atomic in [true, false] {
            await probe.expect(throws: .invalidRequest, "two operations for one record") {
                () async throws(ServiceError) in
                _ = try await probe.modify(twice, atomic: atomic)
            }
        }
        probe.expect(try await probe.record("b") == nil, "a refused request writes nothing")
    }

    func names() async throws(ServiceError) {
        for name in ["", "_a", "ä", String(repeating: "a", count: 256)] {
            probe.expect(
                try await probe.modify(.create(recordName: name, recordType: "T", fields: [:])),
                failed: .invalidRequest, "the record name '\(name)'")
        }
        _ = try await probe.create(String(repeating: "a", count: 255))
        for name in ["", "1a", "a b", "_a"] {
            probe.expect(
                try await probe.modify(.create(recordName: "b", recordType: name, fields: [:])),
                failed: .invalidRequest, "the record type '\(name)'")
            probe.expect(
                try await probe.modify(
                    .create(recordName: "b", recordType: "T", fields: [name: .int64(1)])),
                failed: .invalidRequest, "the field '\(name)'")
        }
    }

    func limits() async throws(ServiceError) {
        let service = probe.service
        let limits = await service.limits
        let names = (0...limits.operationsPerRequest).map { "n\($0)" }
        do throws(ServiceError) {
            let results = try await probe.modify(
                names.map { .create(recordName: $0, recordType: "T", fields: [:]) })
            for result in results {
                probe.expect(
                    result, failed: .limitExceeded, "one operation too many, told by record")
            }
        } catch {
            probe.expect(error.code == .limitExceeded, "one operation too many: found \(error)")
            probe.expect(error.retryAfterSeconds == nil, "limits tell no time to wait")
        }
        probe.expect(
            try await probe.record("n0") == nil, "a request over the limits writes nothing")
        let large = ServiceValue.string(String(repeating: "x", count: limits.recordBytes + 1))
        let results = try await probe.modify([
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "large", recordType: "T", fields: ["text": large]),
            .create(recordName: "b", recordType: "T", fields: [:]),
        ])
        probe.expect(results.dropFirst().first, failed: .limitExceeded, "a record too large")
        probe.expect(
            try await probe.record("b") != nil, "records beside one that is too large are written")
        try await probe.createMany((0...limits.recordsPerPage).map { "p\($0)" })
        let page = try await probe.page(since: nil, limit: Int.max)
        probe.expect(
            page.records.count <= limits.recordsPerPage, "a page keeps to the service's limit")
        probe.expect(page.moreComing, "a page that is not the last says so")
    }
}
