public import BackstitchCore
import BackstitchSync
import Foundation
import Threading

/// How a transfer of a file goes wrong.
public enum TransferFault: Hashable, Sendable {
    /// The connection breaks after so many bytes; `network` is thrown.
    case cut(afterBytes: Int)
    /// All bytes arrive, and the answer gets lost; `network` is thrown.
    case lostReply
    /// The service gets other bytes than were sent, and answers as if they were the right ones. Downloads
    /// go well.
    case damaged
    /// The transfer fails with a code before a byte is sent.
    case error(ServiceError.Code)
}

extension SimulatedRecordService {
    /// Has the next uploads of this device go wrong, one after another.
    public func failUploads(_ faults: [TransferFault]) {
        state.withLock { $0.uploadFaults += faults }
    }

    /// Has the next downloads of this device go wrong, one after another.
    public func failDownloads(_ faults: [TransferFault]) {
        state.withLock { $0.downloadFaults += faults }
    }

    /// Uploads a file; one that was cut goes on where that stopped, unless the server's options say that it
    /// begins anew.
    public func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw ServiceError(.assetMissing, "the file '\(path)' can't be read")
        }
        let (user, fault) = state.withLock { state in
            (state.user, state.uploadFaults.isEmpty ? nil : state.uploadFaults.removeFirst())
        }
        if case .error(let code) = fault { throw ServiceError(code, "injected") }
        guard let user else { throw ServiceError(.notAuthenticated, "no user is signed in") }
        var bytes = Array(data)
        if fault == .damaged { bytes.append(0xFF) }
        let place = SimulatedFiles.Place(
            user: user, zone: ZoneID(zone.zoneName), recordName: field.recordName,
            fieldName: field.fieldName)
        let now = cloud.clock?.milliseconds
        let file = cloud.state.withLock { state -> Result<ServiceAsset, ServiceError> in
            if let now { state.stamp.milliseconds = now }
            guard bytes.count <= state.options.fileBytesMax else {
                return .failure(
                    ServiceError(.limitExceeded, "the file has \(bytes.count) bytes"))
            }
            var count: Int?
            if case .cut(let bytes) = fault { count = bytes }
            if !state.options.resumesUploads { state.files.forgetPart(place) }
            guard state.files.receive(bytes, for: place, count: count) else {
                return .failure(ServiceError(.network, "injected"))
            }
            if fault == .lostReply { return .failure(ServiceError(.network, "injected")) }
            return .success(
                state.files.keep(
                    bytes, for: place, opaque: state.options.hasOpaqueChecksums,
                    now: state.stamp.milliseconds))
        }
        let asset = try file.get()
        progress(Int64(bytes.count))
        return asset
    }

    /// A receipt for a file that a field holds.
    public func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        guard let user = state.withLock(\.user) else {
            throw ServiceError(.notAuthenticated, "no user is signed in")
        }
        let zone = ZoneID(zone.zoneName)
        let now = cloud.clock?.milliseconds
        return cloud.state.withLock { state in
            if let now { state.stamp.milliseconds = now }
            let record = state.databases[user]?.zones[zone]?.record(named: field.recordName)
            guard case .asset(let file)? = record?.fields[field.fieldName],
                let checksum = file.fileChecksum
            else { return nil }
            let place = SimulatedFiles.Place(
                user: user, zone: zone, recordName: "", fieldName: "")
            return state.files.rereference(checksum, in: place, now: state.stamp.milliseconds)
        }
    }

    /// Downloads the content of an asset; what is there is gone on with.
    public func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        let fault = state.withLock { state in
            state.downloadFaults.isEmpty ? nil : state.downloadFaults.removeFirst()
        }
        if case .error(let code) = fault { throw ServiceError(code, "injected") }
        let now = cloud.clock?.milliseconds
        let content = cloud.state.withLock { state in
            if let now { state.stamp.milliseconds = now }
            return state.files.content(at: asset.downloadURL, now: state.stamp.milliseconds)
        }
        let bytes = try content.get()
        let url = URL(fileURLWithPath: path)
        let here = (try? Data(contentsOf: url)).map(Array.init) ?? []
        let start = here.count <= bytes.count ? here.count : 0
        var end = bytes.count
        if case .cut(let count) = fault { end = min(end, start + count) }
        do {
            try Data(here[..<start] + bytes[start..<end]).write(to: url)
        } catch {
            throw ServiceError(.network, "the file can't be written: \(error)")
        }
        progress(Int64(end))
        if end < bytes.count || fault == .lostReply { throw ServiceError(.network, "injected") }
    }
}
