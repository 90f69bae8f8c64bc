import BackstitchCore
import BackstitchSync

/// What references do to requests and deletes.
struct ReferenceConformance {
    let probe: ConformanceProbe

    func references() async throws(ServiceError) {
        let validating = Self.child("child", of: "parent", .validate)
        probe.expect(
            try await probe.modify(validating), failed: .referenceViolation,
            "a validating reference to nothing")
        let both = try await probe.modify(
            [validating, .create(recordName: "parent", recordType: "T", fields: [:])], atomic: true)
        probe.expect(
            both.allSatisfy(\.isSaved),
            "a validating reference to a record created after it in the same request")
        probe.expect(
            try await probe.delete("parent"), failed: .referenceViolation,
            "delete of a record with a validating reference to it")
        probe.expect(try await probe.delete("child") == .deleted, "delete of a record that refers")
        probe.expect(
            try await probe.delete("parent") == .deleted, "delete once nothing refers any more")

        _ = try await probe.create("root")
        _ = try await probe.modify([
            Self.child("leaf", of: "branch", .deleteSelf),
            Self.child("branch", of: "root", .deleteSelf),
            Self.child("friend", of: "root", .none),
        ])
        let token = try await probe.pages(since: nil, limit: 100).last?.token
        probe.expect(try await probe.delete("root") == .deleted, "delete of the root of a tree")
        probe.expect(try await probe.record("leaf") == nil, "DELETE_SELF cascades, level by level")
        probe.expect(try await probe.record("friend") != nil, "NONE does nothing")
        let pages = try await probe.pages(since: token, limit: 100)
        let gone = pages.flatMap { $0.deletions.map(\.recordName) }
        probe.expect(
            Set(gone) == ["root", "branch", "leaf"] && gone.count == 3,
            "what a cascade deletes comes in the feed")

        _ = try await probe.modify([
            Self.child("x", of: "y", .deleteSelf), Self.child("y", of: "x", .deleteSelf),
        ])
        probe.expect(try await probe.delete("x") == .deleted, "delete in a cycle")
        probe.expect(try await probe.record("y") == nil, "DELETE_SELF goes round a cycle")
    }

    func cascades() async throws(ServiceError) {
        try await probe.createMany(["p", "q", "r"])
        let list = ServiceValue.list(
            ["p", "q"].map { .reference(ServiceReference(recordName: $0, action: .deleteSelf)) })
        _ = try await probe.create("lister", ["parents": list])
        probe.expect(try await probe.delete("q") == .deleted, "delete of one of several parents")
        probe.expect(
            try await probe.record("lister") == nil, "the end of one of several parents is enough")

        let mover = try await probe.create("mover", Self.parent("p", .deleteSelf))
        _ = try probe.tag(
            of: try await probe.modify(
                .update(
                    recordName: "mover", recordType: "T", changeTag: mover,
                    fields: Self.parent("r", .deleteSelf))))
        probe.expect(try await probe.delete("p") == .deleted, "delete of a former parent")
        probe.expect(try await probe.record("mover") != nil, "a record that moved away stays")

        // A cascade that would take away what another record holds is refused as a whole.
        _ = try await probe.create("holder", Self.parent("mover", .validate))
        let token = try await probe.pages(since: nil, limit: 100).last?.token
        probe.expect(
            try await probe.delete("r"), failed: .referenceViolation, "a cascade onto a held record"
        )
        for name in ["r", "mover", "holder"] {
            probe.expect(try await probe.record(name) != nil, "a refused cascade deletes nothing")
        }
        probe.expect(try await probe.page(since: token).deletions.isEmpty, "and tells nothing")
    }

    func referencesOfBatches() async throws(ServiceError) {
        for isReversed in [false, true] {
            try await probe.createMany(["target"])
            _ = try await probe.create("source", Self.parent("target", .validate))
            var both = [try await deletion("target"), try await deletion("source")]
            if isReversed { both.reverse() }
            probe.expect(
                try await probe.modify(both, atomic: true) == [.deleted, .deleted],
                "target and source go together in any order")
        }
        try await probe.createMany(["target"])
        let tag = try await probe.create("source", Self.parent("target", .validate))
        let freed = try await probe.modify(
            [
                .update(
                    recordName: "source", recordType: "T", changeTag: tag,
                    fields: ["parent": .null]), try await deletion("target"),
            ], atomic: true)
        probe.expect(freed.last == .deleted, "a target goes with the reference that is cleared")

        let free = try await probe.record("source")?.changeTag ?? ""
        probe.expect(
            try await probe.modify(
                .update(
                    recordName: "source", recordType: "T", changeTag: free,
                    fields: Self.parent("target", .validate))),
            failed: .referenceViolation, "an update with a validating reference to nothing")
        let batch: [RecordModification] = [
            .create(recordName: "x", recordType: "T", fields: Self.parent("none", .validate)),
            .create(recordName: "y", recordType: "T", fields: Self.parent("none", .none)),
        ]
        let atomic = try await probe.modify(batch, atomic: true)
        probe.expect(atomic.first, failed: .referenceViolation, "the culprit that references name")
        probe.expect(atomic.last, failed: .batchFailed, "the innocent beside it")
        let loose = try await probe.modify(batch)
        probe.expect(loose.first, failed: .referenceViolation, "the culprit of a loose batch")
        probe.expect(
            try await probe.record("y") != nil, "a reference that does nothing needs no target")

        try await probe.createMany(["root"])
        let leaf = try await probe.create("leaf", Self.parent("root", .deleteSelf))
        let late = try await probe.modify([
            try await deletion("root"),
            .update(recordName: "leaf", recordType: "T", changeTag: leaf, fields: ["n": .int64(1)]),
        ])
        probe.expect(late.first == .deleted, "the root goes")
        probe.expect(late.last, failed: .unknownItem, "an update of what went with it")
        _ = try await probe.create("self", Self.parent("none", .deleteSelf))
        _ = try await probe.modify(
            .create(recordName: "own", recordType: "T", fields: Self.parent("own", .validate)))
        probe.expect(
            try await probe.delete("own") == .deleted, "a record that refers to itself can go")
    }

    private static func parent(
        _ name: String, _ action: ServiceReference.Action
    ) -> NamedFields {
        ["parent": .reference(ServiceReference(recordName: name, action: action))]
    }

    private func deletion(_ name: String) async throws(ServiceError) -> RecordModification {
        .delete(recordName: name, changeTag: try await probe.record(name)?.changeTag ?? "none")
    }

    private static func child(
        _ name: String, of parent: String, _ action: ServiceReference.Action
    ) -> RecordModification {
        .create(recordName: name, recordType: "T", fields: Self.parent(parent, action))
    }
}
