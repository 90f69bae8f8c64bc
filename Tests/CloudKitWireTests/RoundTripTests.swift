import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import CloudKitWire

/// Writes a body and reads it again.
private func reread<Body: WireBody>(_ body: Body) throws -> Body {
    try Body(body: body.body())
}

@Suite("Requests and replies", .budgeted)
struct RoundTripTests {
    private static let fields: WireFields = [
        "text": WireField(.string("\"ä\u{1}\\🙂")),
        "large": WireField(.int64(.max)),
        "small": WireField(.int64(.min)),
        "double": WireField(.double(0.1)),
        "whole": WireField(.double(3)),
        "time": WireField(.timestamp(milliseconds: 1_700_000_000_123)),
        "bytes": WireField(.bytes(Data([0, 255, 7]))),
        "reference": WireField(.reference(ServiceReference(recordName: "a", action: .validate))),
        "asset": WireField(.asset(ServiceAsset(fileChecksum: "AQ==", size: 1, receipt: "r"))),
        "place": WireField(.location(ServiceLocation(latitude: -1.5, longitude: 180))),
        "list": WireField(.list([.string("a"), .string("")], of: .string)),
        "empty": WireField(.list([], of: .timestamp)),
        "sealed": WireField(.string("secret"), isEncrypted: true),
        "null": WireField(nil),
        "future": WireField(
            .unknown(UnknownValue(typeName: "HOLOGRAM", json: #"{"a":[1.50,null]}"#))),
    ]

    private static var record: WireRecord {
        var record = WireRecord(recordName: "r", recordType: "T")
        record.recordChangeTag = "1e"
        record.fields = fields
        record.parent = "p"
        return record
    }

    @Test("a record with fields of all types comes back as it was")
    func records() throws {
        var record = Self.record
        record.created = WireRecord.Stamp(timestamp: 5, userRecordName: "_u", deviceID: "iCloud")
        record.modified = WireRecord.Stamp(timestamp: 6, userRecordName: nil)
        record.zoneID = WireZoneID("z", ownerRecordName: "_u", zoneType: "REGULAR_CUSTOM_ZONE")
        let response = RecordsResponse(
            records: [
                .value(record),
                .failure(
                    .record("b"),
                    WireError(.conflict, "stale", retryAfter: 1.5, serverRecord: Self.record)),
            ], continuationMarker: "m", syncToken: "s", moreComing: true)
        #expect(try reread(response) == response)
        var gone = WireRecord(recordName: "gone")
        gone.isDeleted = true
        #expect(try reread(gone) == gone)
    }

    @Test("numbers may travel as text")
    func numbersAsStrings() throws {
        let record = Self.record
        let body = record.body(numbersAsStrings: true)
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.contains(#""value":"9223372036854775807""#))
        #expect(text.contains(#""value":"1700000000123""#))
        #expect(try WireRecord(body: body) == record)
    }

    @Test("requests come back as they were")
    func requests() throws {
        let zone = WireZoneID("z")
        let modify = ModifyRecordsRequest(
            operations: WireRecordOperation.Kind.allCases.map {
                WireRecordOperation($0, Self.record, desiredKeys: ["a"])
            }, zoneID: zone, isAtomic: true,
            options: RecordOptions(desiredKeys: [], numbersAsStrings: true))
        #expect(try reread(modify) == modify)
        let lookup = LookupRecordsRequest(
            records: [.init(recordName: "a", desiredKeys: ["b"]), .init(recordName: "c")],
            zoneID: zone)
        #expect(try reread(lookup) == lookup)
        let filters = ServiceFilter.Comparator.allCases.map {
            ServiceFilter(.field("f"), $0, .list([.int64(1)], of: .int64), distance: 2)
        }
        let sorts = [
            ServiceSort(.system(.createdTimestamp), isAscending: false),
            ServiceSort(
                .field("place"), relativeLocation: ServiceLocation(latitude: 1, longitude: 2)),
        ]
        let query = QueryRecordsRequest(
            query: ServiceQuery(recordType: "T", filters: filters, sorts: sorts), isZoneWide: true,
            resultsLimit: 3, continuationMarker: "m")
        #expect(try reread(query) == query)
        var feed = ZoneFeedRequest(
            zoneID: zone, syncToken: "s", resultsLimit: 9, desiredKeys: ["a"])
        feed.isReverse = true
        feed.desiredRecordTypes = ["T"]
        feed.numbersAsStrings = false
        #expect(try reread(ZoneChangesRequest(zones: [feed])) == ZoneChangesRequest(zones: [feed]))
        let changes = DatabaseChangesRequest(syncToken: "s", metaSyncToken: "m", resultsLimit: 1)
        #expect(try reread(changes) == changes)
        let zones = ModifyZonesRequest(operations: [.init(.create, zone), .init(.delete, zone)])
        #expect(try reread(zones) == zones)
        #expect(try reread(LookupZonesRequest(zones: [zone])) == LookupZonesRequest(zones: [zone]))
    }

    @Test("requests about subscriptions, users, assets and tokens come back as they were")
    func otherRequests() throws {
        var subscription = WireSubscription(
            subscriptionID: "s", kind: .query, zoneID: WireZoneID("z"))
        subscription.query = ServiceQuery(recordType: "T")
        subscription.firesOn = ["create"]
        subscription.firesOnce = true
        subscription.isZoneWide = false
        subscription.notificationInfo =
            try JSONObject(body: Array(#"{"alertBody":"x"}"#.utf8)).item.value
        let modify = ModifySubscriptionsRequest(operations: [
            .create(subscription), .update(subscription), .delete(subscriptionID: "s"),
        ])
        #expect(try reread(modify) == modify)
        let lookup = LookupSubscriptionsRequest(subscriptionIDs: ["a", "b"])
        #expect(try reread(lookup) == lookup)
        let users = LookupUsersRequest(infos: [.init(emailAddress: "a@b"), .init(phoneNumber: "1")])
        #expect(try reread(users) == users)
        let place = WireAssetPlace(recordName: "r", recordType: "T", fieldName: "f")
        let upload = UploadRequest(places: [place], zoneID: WireZoneID())
        #expect(try reread(upload) == upload)
        let kept = RereferenceRequest(places: [place], zoneID: WireZoneID())
        #expect(try reread(kept) == kept)
        let token = PushTokenRequest(apnsEnvironment: "development", apnsToken: "t")
        #expect(try reread(token) == token)
    }

    @Test("replies come back as they were")
    func replies() throws {
        let zone = WireZone(zoneID: WireZoneID("z"), syncToken: "s", isAtomic: true)
        let gone = WireZone(zoneID: WireZoneID("y"), isDeleted: true)
        let zones = ZonesResponse(
            zones: [
                .value(zone), .value(gone),
                .failure(.zone(WireZoneID("x")), WireError(.zoneNotFound, "gone")),
            ], syncToken: "a", metaSyncToken: "b", moreComing: false)
        #expect(try reread(zones) == zones)
        let changes = ZoneChangesResponse(zones: [
            .value(
                ZoneFeedPage(
                    zoneID: WireZoneID("z"), syncToken: "t", moreComing: true,
                    records: [.value(Self.record)]))
        ])
        #expect(try reread(changes) == changes)
        let users = UsersResponse(users: [
            WireItem<WireUserIdentity>.value(
                WireUserIdentity(
                    lookupInfo: WireLookupInfo(emailAddress: "e"), userRecordName: "_u",
                    givenName: "Ada"))
        ])
        #expect(try reread(users) == users)
        let uploads = UploadTokensResponse(
            tokens: [WireUploadToken(recordName: "r", fieldName: "f", url: "https://h/u")])
        #expect(try reread(uploads) == uploads)
        let uploaded = UploadedFileResponse(file: ServiceAsset(fileChecksum: "c", size: 3))
        #expect(try reread(uploaded) == uploaded)
        let token = PushTokenResponse(
            apnsEnvironment: "production", apnsToken: "t", webcourierURL: "https://h/c")
        #expect(try reread(token) == token)
    }

    @Test("a user alone stands for a list of one")
    func bareUser() throws {
        let users = try UsersResponse<WireUserIdentity>(
            body: Array(#"{"userRecordName":"_u"}"#.utf8))
        #expect(users.users == [.value(WireUserIdentity(userRecordName: "_u"))])
    }

    @Test(
        "paths are read and written",
        arguments: [Endpoint.queryRecords, .lookupUsersByEmail, .databaseChanges, .createToken])
    func paths(endpoint: Endpoint) {
        let path = WirePath(
            container: "iCloud.test", environment: "development",
            database: endpoint.isOfDevice ? nil : .private, endpoint: endpoint)
        #expect(WirePath(path.text) == path)
    }

    @Test(
        "what is no path of the protocol is refused",
        arguments: [
            "", "/", "/database/1/c/e/private", "/database/2/c/e/private/records/query",
            "/database/1/c/e/secret/records/query", "/database/1/c/e/private/records/",
            "/database/1/c/e/private/records/query/", "//database/1/c/e/private/records/query",
            "/database/1/c/e/private/tokens/create", "/device/1/c/e/records/query",
        ])
    func badPaths(path: String) {
        #expect(WirePath(path) == nil)
    }

    @Test("the reference's path of the calls about devices is understood")
    func devicePath() {
        let path = WirePath("/database/1/c/development/tokens/create")
        #expect(path?.endpoint == .createToken && path?.database == nil)
    }
}
