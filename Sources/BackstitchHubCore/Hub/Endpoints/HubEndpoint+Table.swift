import CloudKitWire

extension HubEndpoint {
    /// All calls of the protocol. Each is answered in a file of its own.
    static let all: [HubEndpoint] = [
        // path, right, body, reply, cost, what answers it
        .read(
            .queryRecords, .body(QueryRecordsRequest.self), reply: "QueryRecordsReply", .scan,
            Hub.queryRecords),
        .read(
            .lookupRecords, .body(LookupRecordsRequest.self), reply: "RecordsReply", .page,
            Hub.lookUpRecords),
        .write(
            .modifyRecords, right: .author, .body(ModifyRecordsRequest.self),
            bodyBytes: \.bodyBytes,
            reply: "RecordsReply", Hub.modifyRecords),
        .read(
            .recordChanges, right: .feeds, .body(ZoneFeedRequest.self), reply: "RecordChangesReply",
            .page, Hub.recordChanges),
        .refused(.resolveRecords, "This hub does not support sharing."),
        .refused(.acceptRecords, "This hub does not support sharing."),
        .read(
            .databaseChanges, right: .feeds, .body(DatabaseChangesRequest.self),
            reply: "DatabaseChangesReply", .page, Hub.databaseChanges),
        .read(
            .zoneChanges, right: .feeds, .body(ZoneChangesRequest.self), reply: "ZoneChangesReply",
            .page, Hub.zoneChanges),
        .list(.listZones, reply: "ZonesReply", .page, Hub.listZones),
        .read(
            .lookupZones, .body(LookupZonesRequest.self), reply: "ZonesReply", .page,
            Hub.lookUpZones),
        .write(
            .modifyZones, .body(ModifyZonesRequest.self), reply: "ZonesReply", Hub.modifyZones),
        .read(
            .zonesChanges, right: .feeds,
            .body(DatabaseChangesRequest.self, as: "ZonesChangesRequest"),
            reply: "ZonesChangesReply", .page, Hub.zonesChanges),
        .list(.listSubscriptions, reply: "SubscriptionsReply", .page, Hub.listSubscriptions),
        .read(
            .lookupSubscriptions, .body(LookupSubscriptionsRequest.self),
            reply: "SubscriptionsReply", .page, Hub.lookUpSubscriptions),
        .write(
            .modifySubscriptions, .body(ModifySubscriptionsRequest.self),
            reply: "SubscriptionsReply", Hub.modifySubscriptions),
        .listUsers(.currentUser, right: .userOrServer, reply: "User", .page, Hub.currentUser),
        .listUsers(.caller, right: .userOrServer, reply: "IdentitiesReply", .page, Hub.caller),
        .readUsers(
            .discoverUsers, takesGet: true, .body(DiscoverUsersRequest.self),
            reply: "IdentitiesReply", .scan, Hub.discoverUsers),
        .readUsers(
            .lookupUsersByEmail, .body(LookupUsersRequest.self), reply: "UsersReply", .scan,
            Hub.lookUpUsers),
        .readUsers(
            .lookupUsersByID, .body(LookupUsersRequest.self), reply: "UsersReply", .page,
            Hub.lookUpUsers),
        .listUsers(.lookupContacts, reply: "UsersReply", .page, Hub.lookUpContacts),
        .write(
            .uploadAssets, .body(UploadRequest.self), reply: "UploadReply",
            Hub.uploadAssets),
        .write(
            .rereferenceAssets, .body(RereferenceRequest.self),
            reply: "RereferenceReply", Hub.rereferenceAssets),
        .writeDevices(
            .createToken, .body(PushTokenRequest.self), reply: "PushTokenReply",
            Hub.createToken),
        .writeDevices(
            .registerToken, .body(PushTokenRequest.self, as: "RegisterTokenRequest"),
            reply: "EmptyObject", Hub.registerToken),
    ]
}
