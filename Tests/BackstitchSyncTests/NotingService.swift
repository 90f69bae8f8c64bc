import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading

/// A service that notes which zones it is asked for files of records.
final class NotingService: ForwardingService {
    let service: any RecordService
    let scope: DatabaseScope
    /// The service for the shared database; nil if there is none.
    private let shared: NotingService?
    private let noted = Locked<[String]>([])

    init(
        _ service: any RecordService, scope: DatabaseScope = .private,
        shared: NotingService? = nil
    ) {
        (self.service, self.scope, self.shared) = (service, scope, shared)
    }

    /// The calls so far.
    var calls: [String] { noted.withLock { $0 } }

    private func note(_ call: String, _ zone: ZoneID) {
        let owner = zone.ownerName.map { " of \($0)" } ?? ""
        noted.withLock { $0.append("\(call), \(zone.zoneName)\(owner)") }
    }

    func service(for scope: DatabaseScope) -> (any RecordService)? {
        scope == .shared ? shared : nil
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        note("look up \(recordNames.joined(separator: " "))", zone)
        return try await service.lookUpRecords(recordNames, in: zone)
    }

    func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        note("upload \(field.recordName)" + (address.map { " from \($0)" } ?? ""), zone)
        return try await service.upload(
            path, for: field, in: zone, from: address, began: began, progress: progress)
    }

    func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        note("rereference \(field.recordName)", zone)
        return try await service.rereference(field, in: zone)
    }
}
