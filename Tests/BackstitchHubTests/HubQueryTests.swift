import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("Queries of a hub", .budgeted)
struct HubQueryTests {
    private static func fixture() async throws -> HubFixture {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let tags = ["red", "green", "blue"]
        var operations: [WireRecordOperation] = []
        for index in 0..<10 {
            var fields: [String: ServiceValue] = [
                "n": .int64(Int64(index)), "half": .double(Double(index) / 2),
                "name": .string("name \(index) Of\(index % 2)"),
                "tags": .list([.string(tags[index % 3]), .string("all")], of: .string),
                "place": .location(ServiceLocation(latitude: Double(index), longitude: 0)),
            ]
            if index % 2 == 0 { fields["even"] = .reference(ServiceReference(recordName: "r0")) }
            operations.append(.init(.create, HubFixture.record("r\(index)", fields)))
        }
        let request = ModifyRecordsRequest(operations: operations, zoneID: WireZoneID("z"))
        let _: RecordsResponse = try await fixture.call(.modifyRecords, request)
        return fixture
    }

    private static func names(
        _ fixture: HubFixture, _ filters: [ServiceFilter], sorts: [ServiceSort] = []
    ) async throws -> [String] {
        let request = QueryRecordsRequest(
            query: ServiceQuery(recordType: "T", filters: filters, sorts: sorts),
            zoneID: WireZoneID("z"))
        let reply: RecordsResponse = try await fixture.call(.queryRecords, request)
        return reply.records.compactMap(\.value?.recordName)
    }

    private static func list(_ numbers: Int64...) -> ServiceValue {
        .list(numbers.map { .int64($0) }, of: .int64)
    }

    private static let cases: [(ServiceFilter, [Int])] = [
        (ServiceFilter(.field("n"), .equals, .int64(3)), [3]),
        (ServiceFilter(.field("n"), .equals, .double(3)), [3]),
        (ServiceFilter(.field("n"), .notEquals, .int64(3)), [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        (ServiceFilter(.field("n"), .lessThan, .int64(2)), [0, 1]),
        (ServiceFilter(.field("n"), .lessThanOrEquals, .int64(2)), [0, 1, 2]),
        (ServiceFilter(.field("half"), .greaterThan, .int64(4)), [9]),
        (ServiceFilter(.field("half"), .greaterThanOrEquals, .int64(4)), [8, 9]),
        (ServiceFilter(.field("n"), .isIn, list(1, 5, 77)), [1, 5]),
        (ServiceFilter(.field("n"), .notIn, list(0, 1, 2, 3, 4, 5, 6, 7)), [8, 9]),
        (ServiceFilter(.field("tags"), .listContains, .string("blue")), [2, 5, 8]),
        (ServiceFilter(.field("tags"), .notListContains, .string("red")), [1, 2, 4, 5, 7, 8]),
        (
            ServiceFilter(
                .field("tags"), .listContainsAny,
                .list([.string("blue"), .string("red")], of: .string)), [0, 2, 3, 5, 6, 8, 9]
        ),
        (
            ServiceFilter(
                .field("tags"), .listContainsAll,
                .list([.string("blue"), .string("all")], of: .string)), [2, 5, 8]
        ),
        (
            ServiceFilter(
                .field("tags"), .notListContainsAll,
                .list([.string("blue"), .string("all")], of: .string)), [0, 1, 3, 4, 6, 7, 9]
        ),
        (
            ServiceFilter(
                .field("tags"), .notListContainsAny,
                .list([.string("green"), .string("red")], of: .string)), [2, 5, 8]
        ),
        (ServiceFilter(.field("name"), .beginsWith, .string("name 7")), [7]),
        (ServiceFilter(.field("name"), .notBeginsWith, .string("name")), []),
        (ServiceFilter(.field("tags"), .listMemberBeginsWith, .string("bl")), [2, 5, 8]),
        (ServiceFilter(.field("tags"), .notListMemberBeginsWith, .string("a")), []),
        (ServiceFilter(.field("name"), .containsAllTokens, .string("OF1 name")), [1, 3, 5, 7, 9]),
        (ServiceFilter(.field("name"), .containsAnyTokens, .string("3 4")), [3, 4]),
        (
            ServiceFilter(
                .field("place"), .near, .location(ServiceLocation(latitude: 5, longitude: 0)),
                distance: 112_000), [4, 5, 6]
        ),
        (ServiceFilter(.field("even"), .equals, nil), [1, 3, 5, 7, 9]),
        (ServiceFilter(.field("even"), .notEquals, nil), [0, 2, 4, 6, 8]),
        (
            ServiceFilter(
                .field("even"), .equals, .reference(ServiceReference(recordName: "r0"))),
            [0, 2, 4, 6, 8]
        ),
        (
            ServiceFilter(
                .system(.recordName), .equals, .reference(ServiceReference(recordName: "r4"))), [4]
        ),
        (ServiceFilter(.field("none"), .equals, .int64(1)), []),
        (ServiceFilter(.field("name"), .lessThan, .int64(1)), []),
    ]

    @Test("each comparator finds what it should")
    func comparators() async throws {
        let fixture = try await Self.fixture()
        for (filter, numbers) in Self.cases {
            let names = try await Self.names(fixture, [filter])
            #expect(names == numbers.map { "r\($0)" }, "\(filter)")
        }
        let both = try await Self.names(
            fixture,
            [
                ServiceFilter(.field("n"), .greaterThan, .int64(2)),
                ServiceFilter(.field("tags"), .listContains, .string("red")),
            ])
        #expect(both == ["r3", "r6", "r9"])
    }

    @Test("pages of a sorted query go on where the one before ended, also after writes")
    func sortedPages() async throws {
        let fixture = try await Self.fixture()
        var request = QueryRecordsRequest(
            query: ServiceQuery(
                recordType: "T",
                sorts: [ServiceSort(.field("even")), ServiceSort(.field("n"), isAscending: false)]),
            zoneID: WireZoneID("z"), resultsLimit: 3)
        var names: [String?] = []
        repeat {
            let reply: RecordsResponse = try await fixture.call(.queryRecords, request)
            names += reply.records.map { $0.value?.recordName }
            request.continuationMarker = reply.continuationMarker
            _ = try await fixture.modify(
                .init(.forceUpdate, HubFixture.record("r9", ["half": .double(0)])))
        } while request.continuationMarker != nil
        #expect(names == [9, 7, 5, 3, 1, 8, 6, 4, 2, 0].map { "r\($0)" })
    }

    @Test("pages of an unsorted query, and those of all zones, tell each record once")
    func zoneWidePages() async throws {
        let fixture = try await Self.fixture()
        try await fixture.makeZones("y")
        _ = try await fixture.modify(.init(.create, HubFixture.record("r5")), zone: "y")
        var request = QueryRecordsRequest(
            query: ServiceQuery(recordType: "T"), isZoneWide: true, resultsLimit: 4)
        var found: [String] = []
        repeat {
            let reply: RecordsResponse = try await fixture.call(.queryRecords, request)
            found += reply.records.compactMap { item in
                item.value.map { "\($0.zoneID?.zoneName ?? "")/\($0.recordName ?? "")" }
            }
            request.continuationMarker = reply.continuationMarker
        } while request.continuationMarker != nil
        #expect(found == ["y/r5"] + (0..<10).map { "z/r\($0)" })
    }

    @Test("records come by their distance where that is asked for")
    func distanceOrder() async throws {
        let fixture = try await Self.fixture()
        let sort = ServiceSort(
            .field("place"), relativeLocation: ServiceLocation(latitude: 9, longitude: 0))
        let names = try await Self.names(fixture, [], sorts: [sort])
        #expect(names == (0..<10).reversed().map { "r\($0)" })
    }

    @Test("bad markers, names and limits are refused")
    func badQueries() async throws {
        let fixture = try await Self.fixture()
        let query = ServiceQuery(recordType: "T")
        for request in [
            QueryRecordsRequest(query: query, continuationMarker: "x"),
            QueryRecordsRequest(query: query, continuationMarker: "e30="),
            QueryRecordsRequest(query: query, resultsLimit: 0),
            QueryRecordsRequest(query: ServiceQuery(recordType: "")),
            QueryRecordsRequest(
                query: ServiceQuery(
                    recordType: "T", filters: [ServiceFilter(.field("place"), .near, .int64(1))]),
                zoneID: WireZoneID("z")),
        ] {
            await #expect(throws: WireError.self) {
                let _: RecordsResponse = try await fixture.call(
                    .queryRecords, request, mayBeWrong: true)
            }
        }
    }

    @Test("only the fields asked for come, and numbers as text where asked")
    func desiredKeys() async throws {
        let fixture = try await Self.fixture()
        let request = LookupRecordsRequest(
            records: [
                .init(recordName: "r1"), .init(recordName: "r1", desiredKeys: []),
            ], zoneID: WireZoneID("z"),
            options: RecordOptions(desiredKeys: ["n"], numbersAsStrings: true))
        let (_, body) = await fixture.send(.lookupRecords, as: fixture.ada, body: request.body())
        let reply = try RecordsResponse(body: body)
        #expect(reply.records[0].value?.fields == ["n": WireField(.int64(1))])
        #expect(reply.records[1].value?.fields == [:])
        #expect(String(decoding: body, as: UTF8.self).contains(#""value":"1""#))
    }
}
