import CloudKitWire

extension FeedCalls {
    /// The zones that changed: `changes/database`.
    func databaseChanges(
        _ request: DatabaseChangesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try changedZones(
            after: request.syncToken, tokenName: "syncToken", request.resultsLimit, call, access,
            transaction)
    }
}
