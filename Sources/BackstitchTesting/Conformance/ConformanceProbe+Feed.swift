import BackstitchCore
import BackstitchSync

extension ConformanceProbe {
    mutating func checkPaging() async throws(ServiceError) {
        let names = (0..<12).map { "r\($0)" }
        try await createMany(names)
        for size in [1, 2, 11, 12, 13] {
            let pages = try await pages(since: nil, limit: size)
            let found = pages.flatMap { $0.records.map(\.recordName) }
            expect(found.count == names.count, "pages of \(size) tell each record once")
            expect(Set(found) == Set(names), "pages of \(size) tell all records")
            expect(
                pages.allSatisfy { $0.records.count + $0.deletions.count <= size },
                "pages of \(size) are no larger")
            if let token = pages.last?.token {
                let after = try await page(since: token, limit: size)
                expect(
                    after.records.isEmpty && after.deletions.isEmpty && !after.moreComing,
                    "nothing comes after the last page")
            }
        }
        let probe = self
        await expect(throws: .invalidRequest, "a page of no records") {
            () async throws(ServiceError) in
            _ = try await probe.page(since: nil, limit: 0)
        }
    }

    mutating func checkWritesWhilePaging() async throws(ServiceError) {
        let names = (0..<6).map { "r\($0)" }
        try await createMany(names)
        let first = try await page(since: nil, limit: 2)
        guard let seen = first.records.first else {
            return expect(false, "the first page has records")
        }
        let update = RecordModification.update(
            recordName: seen.recordName, recordType: "T", changeTag: seen.changeTag,
            fields: ["n": .int64(2)])
        let tag = try Self.tag(of: try await modify(update))
        let unseen = names.filter { name in !first.records.contains { $0.recordName == name } }
        guard let gone = unseen.first else { return expect(false, "a page keeps to its size") }
        _ = try await delete(gone)
        _ = try await create("new")
        var latest: [String: String] = [:]
        var deleted: Set<String> = []
        for record in first.records { latest[record.recordName] = record.changeTag }
        for page in try await pages(since: first.token, limit: 2) {
            for record in page.records { latest[record.recordName] = record.changeTag }
            for deletion in page.deletions { deleted.insert(deletion.recordName) }
        }
        expect(latest[seen.recordName] == tag, "a record changed while paging comes again")
        expect(latest[gone] == nil || deleted.contains(gone), "a record deleted while paging goes")
        expect(latest["new"] != nil, "a record created while paging comes")
        let expected = Set(names + ["new"]).subtracting([gone])
        expect(Set(latest.keys).subtracting(deleted) == expected, "nothing is left out")
    }

    mutating func checkTokens(otherZone: ZoneID) async throws(ServiceError) {
        try await createMany((0..<5).map { "r\($0)" })
        var seen = 0
        for page in try await pages(since: nil, limit: 1) {
            seen += page.records.count
            let rest = try await pages(since: page.token, limit: 100)
            expect(
                rest.reduce(0) { $0 + $1.records.count } == 5 - seen,
                "the token of every page is a point to go on from, and stays one")
        }
        try await service.createZone(otherZone)
        let other = try await service.zoneChanges(
            in: otherZone, since: nil, limit: 10, fields: nil)
        let database = try await databaseChanges(since: nil)
        let (probe, service) = (self, service)
        for token in ["no token", other.token, database.token] {
            await expect(throws: .tokenExpired, "a token of something else") {
                () async throws(ServiceError) in
                _ = try await probe.page(since: token)
            }
        }
        await expect(throws: .tokenExpired, "a database token of something else") {
            () async throws(ServiceError) in
            _ = try await service.databaseChanges(since: other.token)
        }
        _ = try await create("late")
        let changes = try await databaseChanges(since: database.token)
        expect(changes.changedZones == [zone], "a database token finds the zones changed since")
        let none = try await databaseChanges(since: changes.token)
        expect(none.changedZones.isEmpty && !none.moreComing, "no zone changed since")
    }

    mutating func checkDeletions() async throws(ServiceError) {
        try await createMany(["a", "b", "c"])
        let token = try await pages(since: nil, limit: 100).last?.token
        _ = try await delete("a")
        _ = try await delete("b")
        _ = try await create("b")
        let page = try await page(since: token)
        expect(page.deletions.map(\.recordName) == ["a"], "a deletion comes in the feed")
        expect(
            page.deletions.allSatisfy { $0.recordType == nil || $0.recordType == "T" },
            "a deletion tells the record's type, or none")
        expect(
            page.records.map(\.recordName) == ["b"],
            "a record deleted and created again comes as a record")
    }

    mutating func checkEchoes() async throws(ServiceError) {
        let token = try await page(since: nil).token
        let tag = try await create("a", ["x": .int64(1)])
        let page = try await page(since: token)
        expect(page.records.map(\.recordName) == ["a"], "one's own write comes in the feed")
        expect(page.records.first?.changeTag == tag, "the feed has the tag of the reply")
        expect(try await record("a") == page.records.first, "lookup and feed tell the same")
    }
}
