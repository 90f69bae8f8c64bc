import CloudKitWire

extension FeedCalls {
    /// The zones that changed, as CloudKit JS asks for them: `zones/changes`.
    func zonesChanges(
        _ request: DatabaseChangesRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try changedZones(
            after: request.metaSyncToken, tokenName: "metaSyncToken", request.resultsLimit, call,
            access, transaction)
    }
}
