public import BackstitchCore
import CloudKitWire
import Foundation
import Threading

extension CloudKitRecordService {
    /// The bytes of files that were sent so far, those of requests that failed included.
    package var sentFileBytes: Int64 { connection.sentFileBytes }

    /// How many uploads were gone on with after a cut.
    package var resumedUploads: Int { uploads.withLock(\.resumedCount) }

    /// Uploads a file, see `RecordService`: asks for an address, sends the bytes there, and returns what the
    /// service answers.
    ///
    /// A hub takes parts, so that a call for a file that was cut continues where the earlier one stopped, also one of
    /// an earlier process, if its address is still good. Apple's service gets the file in one piece.
    public func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        let upload = UploadAddresses.Upload(path: path, field: field, zone: zone)
        var (url, isNew) = (uploads.withLock { $0[upload] } ?? address, false)
        for _ in 0..<2 {
            if url == nil {
                url = try await self.address(for: field, in: zone)
                isNew = true
            }
            guard let address = url else { break }
            // Only a service that takes parts has given one before.
            guard !isNew || connection.extensions.contains(.resumableUploads) else {
                return try await send(path, to: address, progress)
            }
            uploads.withLock { $0[upload] = address }
            if isNew { await began(address) }
            var offset: Int64 = 0
            if !isNew {
                guard let known = try await self.offset(at: address) else {
                    // It ended.
                    url = nil
                    continue
                }
                offset = known
                if known > 0 { uploads.withLock { $0.resumedCount += 1 } }
            }
            if let file = try await send(path, to: address, from: offset, progress) {
                uploads.withLock { $0[upload] = nil }
                return file
            }
            (url, isNew) = (nil, false)
        }
        uploads.withLock { $0[upload] = nil }
        throw ServiceError(.serviceUnavailable, "the service gives no address for an upload")
    }

    /// Has a receipt for a file that a field holds, so that another field of the zone can hold it too.
    public func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        let place = WireAssetPlace(
            recordName: field.recordName, recordType: field.recordType, fieldName: field.fieldName)
        let reply: AssetsResponse = try await connection.call(
            .rereferenceAssets, database,
            RereferenceRequest(places: [place], zoneID: WireZoneID(zone)))
        return if case .value(let file)? = reply.assets.first { file } else { nil }
    }

    private func address(
        for field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> String {
        let place = WireAssetPlace(
            recordName: field.recordName, recordType: field.recordType, fieldName: field.fieldName)
        let reply: UploadTokensResponse = try await connection.call(
            .uploadAssets, database, UploadRequest(places: [place], zoneID: WireZoneID(zone)))
        guard let token = reply.tokens.first else { throw ServiceError.wrongCount }
        return token.url
    }

    /// Sends a file in one piece.
    private func send(
        _ path: String, to url: String, _ progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        var request = HTTPRequest(method: "POST", url: url, timeoutMilliseconds: 0)
        request.headers = [("Content-Type", "application/octet-stream")]
        return try await withProgress(progress) { told async throws(ServiceError) in
            request.file = try HTTPFile(sending: path, progress: told)
            let reply = try await connection.transfer(request)
            guard reply.status == 200 else { throw connection.failure(reply) }
            return try Self.file(reply)
        }
    }

    /// Sends the parts of a file.
    ///
    /// - Returns: What the service answers to the last; nil if the address ended.
    private func send(
        _ path: String, to url: String, from start: Int64,
        _ progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset? {
        let byteCount = try LocalFile.byteCount(sending: path)
        var offset = start
        // Another sender may have taken the upload over, but not for ever.
        var gaps = 0
        while true {
            guard !Task.isCancelled else {
                throw ServiceError(.network, "the upload was cancelled")
            }
            guard (0...byteCount).contains(offset) else { return nil }
            let end = min(offset + Int64(connection.configuration.uploadPartBytes), byteCount)
            var request = HTTPRequest(method: "PATCH", url: url, timeoutMilliseconds: 0)
            request.headers = [
                ("Content-Type", "application/octet-stream"),
                (WireHeader.uploadOffset, "\(offset)"),
                (WireHeader.uploadLength, "\(byteCount)"),
            ]
            request.file = HTTPFile(path: path, role: .body(offset..<end))
            let reply = try await connection.transfer(request)
            switch reply.status {
            case 200 where end == byteCount:
                progress(byteCount)
                return try Self.file(reply)
            case 200:
                offset = end
                progress(offset)
            case 409:
                gaps += 1
                guard let known = Self.offset(reply), gaps <= 3 else {
                    throw ServiceError(.serviceUnavailable, "the service lost parts of an upload")
                }
                offset = known
            case 403, 404, 410: return nil
            default: throw connection.failure(reply)
            }
        }
    }

    /// How far an upload came; nil if its address ended.
    private func offset(at url: String) async throws(ServiceError) -> Int64? {
        let reply = try await connection.transfer(
            HTTPRequest(method: "HEAD", url: url, timeoutMilliseconds: 0))
        switch reply.status {
        case 200: return Self.offset(reply) ?? 0
        case 403, 404, 410: return nil
        default: throw connection.failure(reply)
        }
    }

    private static func offset(_ reply: HTTPReply) -> Int64? {
        reply.headers[WireHeader.uploadOffset.lowercased()].flatMap { Int64($0) }
    }

    private static func file(_ reply: HTTPReply) throws(ServiceError) -> ServiceAsset {
        do throws(WireFormatError) {
            return try UploadedFileResponse(body: reply.body).file
        } catch {
            throw ServiceError(.network, "the reply can't be read: \(error.message)")
        }
    }

    /// Downloads a file, see `RecordService`: what is there is gone on with, if the service sends parts and
    /// the content is still the same.
    public func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        guard let url = asset.downloadURL else {
            throw ServiceError(.permissionDenied, "the file has no address; read the record again")
        }
        let here = LocalFile.byteCount(path) ?? 0
        if let size = asset.size, here == size, here > 0 { return }
        var request = HTTPRequest(
            method: "GET", url: url.replacing("${f}", with: "file"), timeoutMilliseconds: 0)
        if here > 0, let checksum = asset.fileChecksum {
            request.headers = [("Range", "bytes=\(here)-"), ("If-Range", "\"\(checksum)\"")]
        }
        let offset = request.headers.isEmpty ? 0 : here
        let status = try await withProgress(progress) { told async throws(ServiceError) in
            request.file = HTTPFile(path: path, role: .reply(offset: offset), progress: told)
            let reply = try await connection.transfer(request)
            guard ![200, 206, 403, 404, 410, 416].contains(reply.status) else {
                return reply.status
            }
            throw connection.failure(reply)
        }
        switch status {
        case 200, 206: return
        case 416:
            // More is here than the content has: it is another one.
            LocalFile.empty(path)
            throw ServiceError(.network, "what was here of the file is of another one")
        default:
            throw ServiceError(.permissionDenied, "the address of the file ended")
        }
    }

    /// Lets the client's thread tell of progress as long as a call goes on.
    private func withProgress<Result>(
        _ progress: @Sendable (Int64) -> Void,
        _ body: (@escaping @Sendable (Int64) -> Void) async throws(ServiceError) -> Result
    ) async throws(ServiceError) -> Result {
        let told = Locked<Int64>(0)
        let result = try await body { bytes in told.withLock { $0 = bytes } }
        progress(told.withLock { $0 })
        return result
    }
}
