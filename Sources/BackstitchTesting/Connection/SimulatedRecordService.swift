import Threading
public import BackstitchCore
public import BackstitchSync

/// The connection of one device to a ``SimulatedCloud``.
///
/// It has an account that can be switched, faults of its own, hooks that run while a request is in
/// flight, and pokes. Only hooks make a call wait.
public final class SimulatedRecordService: RecordService {
    /// Runs while a request is in flight; what it throws is the answer to the request.
    public typealias Hook = @Sendable (RequestInfo) async throws(ServiceError) -> Void

    /// The server.
    public let cloud: SimulatedCloud
    /// The name of the device.
    public let device: String
    let state: Locked<ConnectionState>

    init(cloud: SimulatedCloud, user: String?, device: String) {
        self.cloud = cloud
        self.device = device
        state = Locked(ConnectionState(user: user))
    }

    /// A connection to a server of its own, as user "user" on device "device".
    public convenience init(
        clock: ManualClock? = nil, limits: ServiceLimits = ServiceLimits(),
        options: SimulatedCloud.Options = SimulatedCloud.Options()
    ) {
        let cloud = SimulatedCloud(clock: clock, limits: limits, options: options)
        self.init(cloud: cloud, user: "user", device: "device")
    }

    /// The private database of the user.
    public var scope: DatabaseScope { .private }

    /// Feeds bring the record types that are asked for.
    public var capabilities: Set<ServiceCapability> { [.recordTypes] }

    /// The limits of one request.
    public var limits: ServiceLimits {
        get async { cloud.limits }
    }

    /// Applies operations to the records of one zone, see ``RecordService``.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let request = ServiceRequest.modify(modifications, zone: zone, atomic: atomic, token: nil)
        guard case .modified(let results, _) = try await send(request) else { wrongReply() }
        return results
    }

    /// Applies operations, and replaces the token of the zone's feed.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        let request = ServiceRequest.modify(
            modifications, zone: zone, atomic: atomic, token: token)
        guard case .modified(let results, let next) = try await send(request) else { wrongReply() }
        if let next { token = next }
        return results
    }

    /// Reads records by name.
    public func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        let request = ServiceRequest.lookup(recordNames, zone: zone)
        guard case .found(let results) = try await send(request) else { wrongReply() }
        return results
    }

    /// The zones that changed since a token.
    public func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        let request = ServiceRequest.databaseChanges(token: token)
        guard case .databaseChanges(let page) = try await send(request) else { wrongReply() }
        return page
    }

    /// One page of the records that changed in a zone since a token.
    public func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        let request = ServiceRequest.zoneChanges(
            zone: zone, token: token, limit: limit, fields: fields, types: types)
        guard case .zoneChanges(let page) = try await send(request) else { wrongReply() }
        return page
    }

    /// Makes a zone.
    public func createZone(_ zone: ZoneID) async throws(ServiceError) {
        _ = try await send(.createZone(zone))
    }

    /// Deletes a zone with all its records.
    public func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        _ = try await send(.deleteZone(zone))
    }

    /// Subscribes to the changes of a zone.
    public func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        _ = try await send(.createSubscription(subscriptionID, zone: zone))
    }

    /// The record name of the user who is signed in.
    public func currentUser() async throws(ServiceError) -> String {
        guard case .user(let user) = try await send(.currentUser) else { wrongReply() }
        return user
    }

    private func wrongReply() -> Never {
        preconditionFailure("The server answers a request with the reply of its kind.")
    }
}

extension SimulatedCloud {
    /// A new connection of a device, signed in as a user; not signed in if the user is nil.
    ///
    /// The user's database is there from the first request on. Device names tell who wrote, so that
    /// a device gets no poke for its own writes; use each for one connection.
    public func connection(user: String? = "user", device: String) -> SimulatedRecordService {
        SimulatedRecordService(cloud: self, user: user, device: device)
    }
}
