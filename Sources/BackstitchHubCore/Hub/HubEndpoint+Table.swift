import CloudKitWire

extension HubEndpoint {
    /// All calls of the protocol. Each is answered in a file of its own.
    static let all: [HubEndpoint] = [
        // path, what it does, right, body, reply, cost, what answers it
        .read(
            .queryRecords, "Finds records", .body(QueryRecordsRequest.self),
            reply: "QueryRecordsReply", .scan
        ) { $0.records.queryRecords },
        .read(
            .lookupRecords, "Reads records by name", .body(LookupRecordsRequest.self),
            reply: "RecordsReply", .page
        ) { $0.records.lookUpRecords },
        .write(
            .modifyRecords, "Creates, changes and deletes records of a zone", right: .author,
            .body(ModifyRecordsRequest.self),
            bodyBytes: \.bodyBytes,
            reply: "RecordsReply"
        ) { $0.records.modifyRecords },
        .read(
            .recordChanges, "Tells what changed in one zone (deprecated for changes/zone)",
            right: .feeds, .body(ZoneFeedRequest.self, mayBeEmpty: true),
            reply: "RecordChangesReply",
            .page
        ) { $0.changes.recordChanges },
        .refused(
            "records/resolve", "Sharing, which is not supported: BAD_REQUEST",
            "This hub does not support sharing."),
        .refused(
            "records/accept", "Sharing, which is not supported: BAD_REQUEST",
            "This hub does not support sharing."),
        .read(
            .databaseChanges, "Tells which zones changed", right: .feeds,
            .body(DatabaseChangesRequest.self, mayBeEmpty: true),
            reply: "DatabaseChangesReply", .page
        ) { $0.changes.databaseChanges },
        .read(
            .zoneChanges, "Tells what changed in zones", right: .feeds,
            .body(ZoneChangesRequest.self), reply: "ZoneChangesReply",
            .page
        ) { $0.changes.zoneChanges },
        .list(.listZones, "Lists the zones", reply: "ZonesReply", .page) { $0.zones.listZones },
        .read(
            .lookupZones, "Reads zones by name", .body(LookupZonesRequest.self),
            reply: "ZonesReply", .page
        ) { $0.zones.lookUpZones },
        .write(
            .modifyZones, "Makes and deletes zones", .body(ModifyZonesRequest.self),
            reply: "ZonesReply"
        ) { $0.zones.modifyZones },
        .read(
            .zonesChanges, "Tells which zones changed (deprecated for changes/database)",
            right: .feeds,
            .body(DatabaseChangesRequest.self, as: "ZonesChangesRequest", mayBeEmpty: true),
            reply: "ZonesChangesReply", .page
        ) { $0.changes.zonesChanges },
        .read(
            "zones/getCurrentSyncToken", "Tells where a feed ends", right: .feeds,
            .body(CurrentSyncTokenRequest.self, mayBeEmpty: true),
            reply: "CurrentSyncTokenReply", .page
        ) { $0.changes.currentSyncToken },
        .list(
            .listSubscriptions, "Lists the caller's subscriptions", reply: "SubscriptionsReply",
            .page
        ) {
            $0.subscriptions.listSubscriptions
        },
        .read(
            .lookupSubscriptions, "Reads subscriptions by id",
            .body(LookupSubscriptionsRequest.self),
            reply: "SubscriptionsReply", .page
        ) { $0.subscriptions.lookUpSubscriptions },
        .write(
            .modifySubscriptions, "Makes, changes and deletes subscriptions",
            .body(ModifySubscriptionsRequest.self),
            reply: "SubscriptionsReply"
        ) { $0.subscriptions.modifySubscriptions },
        .listUsers(
            .currentUser, "Tells who is signed in (older form)", right: .userOrServer,
            reply: "User", .page
        ) {
            $0.users.currentUser
        },
        .listUsers(
            .caller, "Tells who is signed in", right: .userOrServer, reply: "IdentitiesReply", .page
        ) {
            $0.users.caller
        },
        .readUsers(
            .discoverUsers, "Finds users who want to be found", takesGet: true,
            .body(DiscoverUsersRequest.self, mayBeEmpty: true),
            reply: "IdentitiesReply", .scan
        ) { $0.users.discoverUsers },
        .readUsers(
            .lookupUsersByEmail, "Finds users by address", .body(LookupUsersRequest.self),
            reply: "UsersReply", .scan
        ) { $0.users.lookUpUsers },
        .readUsers(
            .lookupUsersByID, "Finds users by record name", .body(LookupUsersRequest.self),
            reply: "UsersReply", .page
        ) { $0.users.lookUpUsers },
        .listUsers(
            .lookupContacts, "Finds nobody: a hub knows no contacts", reply: "UsersReply", .page
        ) { $0.users.lookUpContacts },
        .write(
            .uploadAssets, "Gives addresses for uploads", .body(UploadRequest.self),
            reply: "UploadReply"
        ) { $0.files.uploadAssets },
        .write(
            .rereferenceAssets, "Gives receipts for files that records hold",
            .body(RereferenceRequest.self),
            reply: "RereferenceReply"
        ) { $0.files.rereferenceAssets },
        .writeDevices(
            .createToken, "Makes a token for a device", .body(PushTokenRequest.self),
            reply: "PushTokenReply"
        ) { $0.devices.createToken },
        .writeDevices(
            .registerToken, "Has a device told of changes",
            .body(PushTokenRequest.self, as: "RegisterTokenRequest"),
            reply: "EmptyObject"
        ) { $0.devices.registerToken },
    ]
}
