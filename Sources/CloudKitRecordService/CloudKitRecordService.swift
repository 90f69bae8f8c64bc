public import BackstitchCore
public import BackstitchSync
import CloudKitWire
import Foundation
import Threading

/// A service that speaks CloudKit Web Services over HTTPS: Apple's, or a hub.
///
/// Requests go through libcurl, which keeps connections and compresses replies. Extensions of a hub
/// are used if the hub announces them.
///
/// ```swift
/// let token = WebAuthToken(saved) { save($0) }
/// let service = try CloudKitRecordService(
///     CloudKitConfiguration(
///         container: "iCloud.com.example.notes",
///         credentials: .user(apiToken: apiToken, webAuthToken: token)))
/// ```
public final class CloudKitRecordService: RecordService {
    /// The most records of a page of a hub.
    private static let recordsPerLargePage = 2_000

    let connection: CloudKitConnection
    /// The addresses of uploads that were not sent to the end, so that they are gone on with.
    let uploads = Locked(UploadAddresses())

    /// A client.
    ///
    /// - Throws: `invalidRequest` if no request could be made with the configuration;
    ///   `notAuthenticated` if the private key can't be read; `serviceUnavailable` if libcurl
    ///   can't be started.
    public convenience init(_ configuration: CloudKitConfiguration) throws(ServiceError) {
        let client: CurlClient
        do throws(HTTPFailure) {
            client = try CurlClient(certificates: configuration.certificateFile?.path)
        } catch {
            throw ServiceError(.serviceUnavailable, error.message)
        }
        try self.init(configuration, client: client)
    }

    init(_ configuration: CloudKitConfiguration, client: any HTTPClient) throws(ServiceError) {
        connection = try CloudKitConnection(configuration, client: client)
    }

    /// The database that the configuration names.
    public var scope: DatabaseScope { connection.configuration.scope }

    /// Feeds bring the record types that are asked for.
    public var capabilities: Set<ServiceCapability> { [.recordTypes] }

    /// A client of another database, with the same credentials and connections.
    public func service(for scope: DatabaseScope) -> (any RecordService)? {
        guard scope != self.scope else { return self }
        var configuration = connection.configuration
        configuration.scope = scope
        // The same checks found nothing wrong before.
        return try? CloudKitRecordService(configuration, client: connection.client)
    }

    /// The limits of one request; pages of a hub may have more records.
    public var limits: ServiceLimits {
        get async { currentLimits }
    }

    var currentLimits: ServiceLimits {
        var limits = connection.configuration.limits
        if connection.extensions.contains(.largePages) {
            limits.recordsPerPage = max(limits.recordsPerPage, Self.recordsPerLargePage)
        }
        return limits
    }

    var database: WireDatabase {
        switch connection.configuration.scope {
        case .private: .private
        case .shared: .shared
        case .public: .public
        }
    }

    /// The record name of the user who is signed in.
    public func currentUser() async throws(ServiceError) -> String {
        let reply: UsersResponse<WireUserIdentity> = try await connection.call(
            .caller, .public, EmptyResponse())
        switch reply.users.first {
        case .value(let user)?:
            guard let name = user.userRecordName else { break }
            return name
        case .failure(_, let error)?: throw ServiceError(error)
        case nil: break
        }
        throw ServiceError(.notAuthenticated, "the service does not tell who is signed in")
    }

    // MARK: Zones

    /// Makes a zone.
    public func createZone(_ zone: ZoneID) async throws(ServiceError) {
        do throws(ServiceError) {
            try await modify(.create, zone)
        } catch  where error.code == .alreadyExists {
            return
        }
    }

    /// Deletes a zone with all its records.
    public func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try await modify(.delete, zone)
    }

    private func modify(
        _ kind: ModifyZonesRequest.Operation.Kind, _ zone: ZoneID
    ) async throws(ServiceError) {
        let request = ModifyZonesRequest(operations: [.init(kind, WireZoneID(zone))])
        let reply: ZonesResponse = try await connection.call(.modifyZones, database, request)
        guard case .failure(_, let error)? = reply.zones.first else { return }
        throw ServiceError(error)
    }

    /// Subscribes to the changes of a zone.
    public func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        let subscription = WireSubscription(
            subscriptionID: subscriptionID, kind: .zone, zoneID: WireZoneID(zone))
        let request = ModifySubscriptionsRequest(operations: [.create(subscription)])
        let reply: SubscriptionsResponse = try await connection.call(
            .modifySubscriptions, database, request)
        guard case .failure(_, let error)? = reply.subscriptions.first else { return }
        // How CloudKit says that there is a subscription to the same of another name.
        let isThere = error.reason.contains("could not find subscription we just created")
        guard error.code != .exists, !isThere else { return }
        throw ServiceError(error)
    }
}

extension WireZoneID {
    /// A zone's name for the wire.
    init(_ zone: ZoneID) { self.init(zone.zoneName, ownerRecordName: zone.ownerName) }
}
