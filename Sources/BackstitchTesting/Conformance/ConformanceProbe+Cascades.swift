import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkCascades() async throws(ServiceError) {
        try await createMany(["p", "q", "r"])
        let list = ServiceValue.list(
            ["p", "q"].map { .reference(ServiceReference(recordName: $0, action: .deleteSelf)) })
        _ = try await create("lister", ["parents": list])
        expect(try await delete("q") == .deleted, "delete of one of several parents")
        expect(try await record("lister") == nil, "the end of one of several parents is enough")

        let mover = try await create("mover", Self.parent("p", .deleteSelf))
        _ = try Self.tag(
            of: try await modify(
                .update(
                    recordName: "mover", recordType: "T", changeTag: mover,
                    fields: Self.parent("r", .deleteSelf))))
        expect(try await delete("p") == .deleted, "delete of a former parent")
        expect(try await record("mover") != nil, "a record that moved away stays")

        // A cascade that would take away what somebody else holds is refused as a whole.
        _ = try await create("holder", Self.parent("mover", .validate))
        let token = try await pages(since: nil, limit: 100).last?.token
        expect(try await delete("r"), failed: .referenceViolation, "a cascade onto a held record")
        for name in ["r", "mover", "holder"] {
            expect(try await record(name) != nil, "a refused cascade deletes nothing")
        }
        expect(try await page(since: token).deletions.isEmpty, "and tells nothing")
    }

    mutating func checkReferencesOfBatches() async throws(ServiceError) {
        for isReversed in [false, true] {
            try await createMany(["target"])
            _ = try await create("source", Self.parent("target", .validate))
            var both = [try await deletion("target"), try await deletion("source")]
            if isReversed { both.reverse() }
            expect(
                try await modify(both, atomic: true) == [.deleted, .deleted],
                "target and source go together in any order")
        }
        try await createMany(["target"])
        let tag = try await create("source", Self.parent("target", .validate))
        let freed = try await modify(
            [
                .update(
                    recordName: "source", recordType: "T", changeTag: tag,
                    fields: ["parent": .null]), try await deletion("target"),
            ], atomic: true)
        expect(freed.last == .deleted, "a target goes with the reference that is cleared")

        let free = try await record("source")?.changeTag ?? ""
        expect(
            try await modify(
                .update(
                    recordName: "source", recordType: "T", changeTag: free,
                    fields: Self.parent("target", .validate))),
            failed: .referenceViolation, "an update with a validating reference to nothing")
        let batch: [RecordModification] = [
            .create(recordName: "x", recordType: "T", fields: Self.parent("none", .validate)),
            .create(recordName: "y", recordType: "T", fields: Self.parent("none", .none)),
        ]
        let atomic = try await modify(batch, atomic: true)
        expect(atomic.first, failed: .referenceViolation, "the culprit that references name")
        expect(atomic.last, failed: .batchFailed, "the innocent beside it")
        let loose = try await modify(batch)
        expect(loose.first, failed: .referenceViolation, "the culprit of a loose batch")
        expect(try await record("y") != nil, "a reference that does nothing needs no target")

        try await createMany(["root"])
        let leaf = try await create("leaf", Self.parent("root", .deleteSelf))
        let late = try await modify([
            try await deletion("root"),
            .update(recordName: "leaf", recordType: "T", changeTag: leaf, fields: ["n": .int64(1)]),
        ])
        expect(late.first == .deleted, "the root goes")
        expect(late.last, failed: .unknownItem, "an update of what went with it")
        _ = try await create("self", Self.parent("none", .deleteSelf))
        _ = try await modify(
            .create(recordName: "own", recordType: "T", fields: Self.parent("own", .validate)))
        expect(try await delete("own") == .deleted, "a record that refers to itself can go")
    }

    private static func parent(
        _ name: String, _ action: ServiceReference.Action
    ) -> [String: ServiceValue] {
        ["parent": .reference(ServiceReference(recordName: name, action: action))]
    }

    private func deletion(_ name: String) async throws(ServiceError) -> RecordModification {
        .delete(recordName: name, changeTag: try await record(name)?.changeTag ?? "none")
    }
}
