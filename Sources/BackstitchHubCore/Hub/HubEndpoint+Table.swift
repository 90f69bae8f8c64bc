import CloudKitWire

extension HubEndpoint {
    /// All calls of the protocol. Each is answered in a file of its own.
    static let all: [HubEndpoint] = [
        // path, right, body, reply, cost, what answers it
        .read(
            .queryRecords, .body(QueryRecordsRequest.self), reply: "QueryRecordsReply", .scan
        ) { $0.records.queryRecords },
        .read(
            .lookupRecords, .body(LookupRecordsRequest.self), reply: "RecordsReply", .page
        ) { $0.records.lookUpRecords },
        .write(
            .modifyRecords, right: .author, .body(ModifyRecordsRequest.self),
            bodyBytes: \.bodyBytes,
            reply: "RecordsReply"
        ) { $0.records.modifyRecords },
        .read(
            .recordChanges, right: .feeds, .body(ZoneFeedRequest.self), reply: "RecordChangesReply",
            .page
        ) { $0.changes.recordChanges },
        .refused("records/resolve", "This hub does not support sharing."),
        .refused("records/accept", "This hub does not support sharing."),
        .read(
            .databaseChanges, right: .feeds, .body(DatabaseChangesRequest.self),
            reply: "DatabaseChangesReply", .page
        ) { $0.changes.databaseChanges },
        .read(
            .zoneChanges, right: .feeds, .body(ZoneChangesRequest.self), reply: "ZoneChangesReply",
            .page
        ) { $0.changes.zoneChanges },
        .list(.listZones, reply: "ZonesReply", .page) { $0.zones.listZones },
        .read(
            .lookupZones, .body(LookupZonesRequest.self), reply: "ZonesReply", .page
        ) { $0.zones.lookUpZones },
        .write(
            .modifyZones, .body(ModifyZonesRequest.self), reply: "ZonesReply"
        ) { $0.zones.modifyZones },
        .read(
            .zonesChanges, right: .feeds,
            .body(DatabaseChangesRequest.self, as: "ZonesChangesRequest"),
            reply: "ZonesChangesReply", .page
        ) { $0.changes.zonesChanges },
        .list(.listSubscriptions, reply: "SubscriptionsReply", .page) {
            $0.subscriptions.listSubscriptions
        },
        .read(
            .lookupSubscriptions, .body(LookupSubscriptionsRequest.self),
            reply: "SubscriptionsReply", .page
        ) { $0.subscriptions.lookUpSubscriptions },
        .write(
            .modifySubscriptions, .body(ModifySubscriptionsRequest.self),
            reply: "SubscriptionsReply"
        ) { $0.subscriptions.modifySubscriptions },
        .listUsers(.currentUser, right: .userOrServer, reply: "User", .page) {
            $0.users.currentUser
        },
        .listUsers(.caller, right: .userOrServer, reply: "IdentitiesReply", .page) {
            $0.users.caller
        },
        .readUsers(
            .discoverUsers, takesGet: true, .body(DiscoverUsersRequest.self),
            reply: "IdentitiesReply", .scan
        ) { $0.users.discoverUsers },
        .readUsers(
            .lookupUsersByEmail, .body(LookupUsersRequest.self), reply: "UsersReply", .scan
        ) { $0.users.lookUpUsers },
        .readUsers(
            .lookupUsersByID, .body(LookupUsersRequest.self), reply: "UsersReply", .page
        ) { $0.users.lookUpUsers },
        .listUsers(.lookupContacts, reply: "UsersReply", .page) { $0.users.lookUpContacts },
        .write(
            .uploadAssets, .body(UploadRequest.self), reply: "UploadReply"
        ) { $0.files.uploadAssets },
        .write(
            .rereferenceAssets, .body(RereferenceRequest.self),
            reply: "RereferenceReply"
        ) { $0.files.rereferenceAssets },
        .writeDevices(
            .createToken, .body(PushTokenRequest.self), reply: "PushTokenReply"
        ) { $0.devices.createToken },
        .writeDevices(
            .registerToken, .body(PushTokenRequest.self, as: "RegisterTokenRequest"),
            reply: "EmptyObject"
        ) { $0.devices.registerToken },
    ]
}
