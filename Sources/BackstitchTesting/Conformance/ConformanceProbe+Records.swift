import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkTags() async throws(ServiceError) {
        let first = try await create("a", ["title": .string("one")])
        expect(!first.isEmpty, "a record has a change tag")
        expect(
            try await modify(.create(recordName: "a", recordType: "T", fields: [:])),
            failed: .alreadyExists, "create on a record that is there")
        expect(
            try await modify(.create(recordName: "a", recordType: "Other", fields: [:])),
            failed: .alreadyExists, "create of another type on a name that is taken")
        let second = try Self.tag(
            of: try await modify(
                .update(
                    recordName: "a", recordType: "T", changeTag: first,
                    fields: ["title": .string("two")])))
        expect(second != first, "the change tag changes with every write")
        expect(
            try await modify(
                .update(
                    recordName: "a", recordType: "T", changeTag: first,
                    fields: ["title": .string("three")])),
            failed: .conflict, "update with an old tag")
        expect(
            try await record("a")?.fields["title"] == .string("two"),
            "a refused update changes nothing")
        expect(
            try await modify(.delete(recordName: "a", changeTag: first)), failed: .conflict,
            "delete with an old tag")
        expect(try await record("a") != nil, "a refused delete deletes nothing")
        expect(
            try await modify(
                .update(recordName: "b", recordType: "T", changeTag: second, fields: [:])),
            failed: .unknownItem, "update of a record that is not there")
        expect(
            try await modify(.delete(recordName: "b", changeTag: second)), failed: .unknownItem,
            "delete of a record that is not there")
        expect(
            try await modify(.delete(recordName: "a", changeTag: second)) == .deleted,
            "delete with the record's tag")
        expect(try await record("a") == nil, "a deleted record is not found")
        expect(
            try await modify(
                .update(recordName: "a", recordType: "T", changeTag: second, fields: [:])),
            failed: .unknownItem, "update of a deleted record")
        let third = try await create("a")
        expect(third != first && third != second, "a record created again has a new tag")
    }

    mutating func checkFields() async throws(ServiceError) {
        let tag = try await create("a", ["x": .int64(1), "y": .string("y"), "z": .null])
        expect(
            try await record("a")?.fields == ["x": .int64(1), "y": .string("y")],
            "a field created with null is absent")
        let update = RecordModification.update(
            recordName: "a", recordType: "T", changeTag: tag, fields: ["x": .null, "w": .int64(2)])
        _ = try Self.tag(of: try await modify(update))
        expect(
            try await record("a")?.fields == ["y": .string("y"), "w": .int64(2)],
            "update sets the fields given, null clears, others stay")
        let page = try await page(since: nil, fields: ["w"])
        expect(
            page.records.first?.fields == ["w": .int64(2)]
                && page.records.first?.requestedFields == ["w"],
            "a page carries the fields asked for, and says which they are")
        var copy = try await record("a")
        copy?.fields["y"] = .string("changed")
        expect(
            try await record("a")?.fields["y"] == .string("y"),
            "mutating a record returned does not mutate the database")
    }

    mutating func checkAtomicity() async throws(ServiceError) {
        let tag = try await create("a", ["x": .int64(1)])
        let operations: [RecordModification] = [
            .create(recordName: "b", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "c", recordType: "T", fields: [:]),
        ]
        let atomic = try await modify(operations, atomic: true)
        expect(atomic.count == 3, "each operation has an answer")
        expect(atomic.first, failed: .batchFailed, "an innocent of an atomic batch")
        expect(atomic.dropFirst().first, failed: .alreadyExists, "the culprit of an atomic batch")
        expect(atomic.last, failed: .batchFailed, "an innocent of an atomic batch")
        expect(
            try await page(since: nil).records.map(\.recordName) == ["a"],
            "a failed atomic batch writes nothing")
        expect(try await record("a")?.changeTag == tag, "a failed atomic batch changes no tag")
        let loose = try await modify(operations)
        expect(loose.dropFirst().first, failed: .alreadyExists, "the culprit of a batch")
        expect(try await record("b") != nil, "a batch that is not atomic writes what it can")
        expect(try await record("c") != nil, "a batch that is not atomic goes on after a failure")
    }

    mutating func checkDuplicates() async throws(ServiceError) {
        let twice: [RecordModification] = [
            .create(recordName: "b", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "a", recordType: "T", fields: [:]),
        ]
        let probe = self
        for atomic in [true, false] {
            await expect(throws: .invalidRequest, "two operations for one record") {
                () async throws(ServiceError) in
                _ = try await probe.modify(twice, atomic: atomic)
            }
        }
        expect(try await record("b") == nil, "a refused request writes nothing")
    }

    mutating func checkNames() async throws(ServiceError) {
        for name in ["", "_a", "ä", String(repeating: "a", count: 256)] {
            expect(
                try await modify(.create(recordName: name, recordType: "T", fields: [:])),
                failed: .invalidRequest, "the record name '\(name)'")
        }
        _ = try await create(String(repeating: "a", count: 255))
        for name in ["", "1a", "a b", "_a"] {
            expect(
                try await modify(.create(recordName: "b", recordType: name, fields: [:])),
                failed: .invalidRequest, "the record type '\(name)'")
            expect(
                try await modify(
                    .create(recordName: "b", recordType: "T", fields: [name: .int64(1)])),
                failed: .invalidRequest, "the field '\(name)'")
        }
    }

    mutating func checkLimits() async throws(ServiceError) {
        let limits = await service.limits
        let names = (0...limits.operationsPerRequest).map { "n\($0)" }
        do throws(ServiceError) {
            let results = try await modify(
                names.map { .create(recordName: $0, recordType: "T", fields: [:]) })
            for result in results {
                expect(result, failed: .limitExceeded, "one operation too many, told by record")
            }
        } catch {
            expect(error.code == .limitExceeded, "one operation too many: found \(error)")
            expect(error.retryAfterSeconds == nil, "limits tell no time to wait")
        }
        expect(try await record("n0") == nil, "a request over the limits writes nothing")
        let large = ServiceValue.string(String(repeating: "x", count: limits.recordBytes + 1))
        let results = try await modify([
            .create(recordName: "a", recordType: "T", fields: [:]),
            .create(recordName: "large", recordType: "T", fields: ["text": large]),
            .create(recordName: "b", recordType: "T", fields: [:]),
        ])
        expect(results.dropFirst().first, failed: .limitExceeded, "a record too large")
        expect(try await record("b") != nil, "records beside one that is too large are written")
        try await createMany((0...limits.recordsPerPage).map { "p\($0)" })
        let page = try await page(since: nil, limit: Int.max)
        expect(page.records.count <= limits.recordsPerPage, "a page keeps to the service's limit")
        expect(page.moreComing, "a page that is not the last says so")
    }
}
