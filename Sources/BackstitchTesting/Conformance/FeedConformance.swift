import BackstitchCore
import BackstitchSync

/// Pages of changes, and the tokens between them.
struct FeedConformance {
    let probe: ConformanceProbe

    func paging() async throws(ServiceError) {
        let names = (0..<12).map { "r\($0)" }
        try await probe.createMany(names)
        for size in [1, 2, 11, 12, 13] {
            let pages = try await probe.pages(since: nil, limit: size)
            let found = pages.flatMap { $0.records.map(\.recordName) }
            probe.expect(found.count == names.count, "pages of \(size) tell each record once")
            probe.expect(Set(found) == Set(names), "pages of \(size) tell all records")
            probe.expect(
                pages.allSatisfy { $0.records.count + $0.deletions.count <= size },
                "pages of \(size) are no larger")
            if let token = pages.last?.token {
                let after = try await probe.page(since: token, limit: size)
                probe.expect(
                    after.records.isEmpty && after.deletions.isEmpty && !after.moreComing,
                    "nothing comes after the last page")
            }
        }
        await probe.expect(throws: .invalidRequest, "a page of no records") {
            () async throws(ServiceError) in
            _ = try await probe.page(since: nil, limit: 0)
        }
    }

    func writesWhilePaging() async throws(ServiceError) {
        let names = (0..<6).map { "r\($0)" }
        try await probe.createMany(names)
        let first = try await probe.page(since: nil, limit: 2)
        guard let seen = first.records.first else {
            return probe.expect(false, "the first page has records")
        }
        let update = RecordModification.update(
            recordName: seen.recordName, recordType: "T", changeTag: seen.changeTag,
            fields: ["n": .int64(2)])
        let tag = try probe.tag(of: try await probe.modify(update))
        let unseen = names.filter { name in !first.records.contains { $0.recordName == name } }
        guard let gone = unseen.first else {
            return probe.expect(false, "a page keeps to its size")
        }
        _ = try await probe.delete(gone)
        _ = try await probe.create("new")
        var latest: [String: String] = [:]
        var deleted: Set<String> = []
        for record in first.records { latest[record.recordName] = record.changeTag }
        for page in try await probe.pages(since: first.token, limit: 2) {
            for record in page.records { latest[record.recordName] = record.changeTag }
            for deletion in page.deletions { deleted.insert(deletion.recordName) }
        }
        probe.expect(latest[seen.recordName] == tag, "a record changed while paging comes again")
        probe.expect(
            latest[gone] == nil || deleted.contains(gone), "a record deleted while paging goes")
        probe.expect(latest["new"] != nil, "a record created while paging comes")
        let expected = Set(names + ["new"]).subtracting([gone])
        probe.expect(Set(latest.keys).subtracting(deleted) == expected, "nothing is left out")
    }

    func tokens(otherZone: ZoneID) async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        try await probe.createMany((0..<5).map { "r\($0)" })
        var seen = 0
        for page in try await probe.pages(since: nil, limit: 1) {
            seen += page.records.count
            let rest = try await probe.pages(since: page.token, limit: 100)
            probe.expect(
                rest.reduce(0) { $0 + $1.records.count } == 5 - seen,
                "the token of every page is a point to go on from, and stays one")
        }
        try await service.createZone(otherZone)
        let other = try await service.zoneChanges(
            in: otherZone, since: nil, limit: 10, fields: nil)
        let database = try await probe.databaseChanges(since: nil)
        for token in ["no token", other.token, database.token] {
            await probe.expect(throws: .tokenExpired, "a token of something else") {
                () async throws(ServiceError) in
                _ = try await probe.page(since: token)
            }
        }
        await probe.expect(throws: .tokenExpired, "a database token of something else") {
            () async throws(ServiceError) in
            _ = try await service.databaseChanges(since: other.token)
        }
        _ = try await probe.create("late")
        let changes = try await probe.databaseChanges(since: database.token)
        probe.expect(
            changes.changedZones == [zone], "a database token finds the zones changed since")
        let none = try await probe.databaseChanges(since: changes.token)
        probe.expect(none.changedZones.isEmpty && !none.moreComing, "no zone changed since")
    }

    func deletions() async throws(ServiceError) {
        try await probe.createMany(["a", "b", "c"])
        let token = try await probe.pages(since: nil, limit: 100).last?.token
        _ = try await probe.delete("a")
        _ = try await probe.delete("b")
        _ = try await probe.create("b")
        let page = try await probe.page(since: token)
        probe.expect(page.deletions.map(\.recordName) == ["a"], "a deletion comes in the feed")
        probe.expect(
            page.deletions.allSatisfy { $0.recordType == nil || $0.recordType == "T" },
            "a deletion tells the record's type, or none")
        probe.expect(
            page.records.map(\.recordName) == ["b"],
            "a record deleted and created again comes as a record")
    }

    func echoes() async throws(ServiceError) {
        let token = try await probe.page(since: nil).token
        let tag = try await probe.create("a", ["x": .int64(1)])
        let page = try await probe.page(since: token)
        probe.expect(page.records.map(\.recordName) == ["a"], "one's own write comes in the feed")
        probe.expect(page.records.first?.changeTag == tag, "the feed has the tag of the reply")
        probe.expect(
            try await probe.record("a") == page.records.first, "lookup and feed tell the same")
    }

    func desiredTypes() async throws(ServiceError) {
        let (service, zone) = (probe.service, probe.zone)
        for (name, type) in [("a", "T"), ("b", "Other"), ("gone", "Other"), ("c", "T")] {
            _ = try probe.tag(
                of: try await probe.modify(.create(recordName: name, recordType: type, fields: [:]))
            )
        }
        _ = try await probe.delete("gone")
        let isKept = service.capabilities.contains(.recordTypes)
        let wishes: [(types: Set<String>?, names: Set<String>)] = [
            (nil, ["a", "b", "c"]), (["T"], ["a", "c"]), (["Other", "none"], ["b"]),
            (["none"], []),
        ]
        for (types, names) in wishes {
            let wish = types?.sorted().joined(separator: ", ") ?? "all"
            var (found, deleted): (Set<String>, Set<String>) = ([], [])
            var (token, moreComing): (String?, Bool) = (nil, true)
            for _ in 0..<20 where moreComing {
                let page = try await service.zoneChanges(
                    in: zone, since: token, limit: 1, fields: nil, types: types)
                found.formUnion(page.records.map(\.recordName))
                deleted.formUnion(page.deletions.map(\.recordName))
                (token, moreComing) = (page.token, page.moreComing)
            }
            probe.expect(!moreComing, "the feed of the types \(wish) ends")
            probe.expect(
                isKept ? found == names : found.isSuperset(of: names), "the types \(wish)")
            probe.expect(deleted == ["gone"], "deletions come with the types \(wish)")
        }
    }

    func damagedTokens() async throws(ServiceError) {
        let service = probe.service
        try await probe.createMany(["a", "b", "c"])
        let token = try await probe.page(since: nil, limit: 1).token
        let database = try await probe.databaseChanges(since: nil).token
        for damaged in Self.damaged(token) {
            await probe.expect(throws: .tokenExpired, "the token '\(damaged.prefix(80))'") {
                () async throws(ServiceError) in _ = try await probe.page(since: damaged)
            }
        }
        for damaged in Self.damaged(database) {
            await probe.expect(throws: .tokenExpired, "the database token '\(damaged.prefix(80))'")
            {
                () async throws(ServiceError) in
                _ = try await service.databaseChanges(since: damaged)
            }
        }
        for limit in [0, -1, Int.min] {
            await probe.expect(throws: .invalidRequest, "a page of \(limit) behind a token") {
                () async throws(ServiceError) in
                _ = try await probe.page(since: token, limit: limit)
            }
        }
        let again = try await probe.page(since: token, limit: 1)
        probe.expect(
            try await probe.page(since: token, limit: 1) == again,
            "the same token leads to the same page")
        var orders: Set<[String]> = []
        for size in 1...4 {
            orders.insert(
                try await probe.pages(since: nil, limit: size)
                    .flatMap { $0.records.map(\.recordName) })
        }
        probe.expect(
            orders == [["a", "b", "c"]], "the order is that of the writes for pages of any size")
    }

    private static func damaged(_ token: String) -> [String] {
        func changed(at offset: Int) -> String {
            var characters = Array(token)
            characters[offset] = characters[offset] == "1" ? "2" : "1"
            return String(characters)
        }
        return [
            "", " ", "A", "AAAA", "ä", "-", "z-1-1-0-0-0", String(repeating: "A", count: 60),
            String(repeating: "A", count: 5_000), String(token.dropLast()),
            String(token.dropFirst()), String(token.dropLast(4)), token + "A", token + "AAAA",
            token + token, " " + token, token + " ", changed(at: 0),
            changed(at: token.count / 2), changed(at: token.count - 1),
        ]
    }
}
