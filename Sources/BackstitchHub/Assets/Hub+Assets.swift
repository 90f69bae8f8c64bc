import BackstitchCore
import CloudKitWire
import Foundation
import Glibc
import WireCrypto

extension Hub {
    /// Gives out addresses for uploads: `assets/upload`.
    func makeUploads(_ call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        let request: AssetsRequest = try call.decode()
        _ = try author(of: access)
        guard request.isUpload else { throw WireError(.badRequest, "The key 'tokens' is missing.") }
        try checkCount(request.places.count)
        let expires = now + configuration.limits.addressMilliseconds
        let places = try request.places.map { place in
            let name = place.recordName ?? makeUUID()
            guard ServiceNames.isRecordName(name), ServiceNames.isIdentifier(place.fieldName) else {
                throw WireError(.badRequest, "An upload takes the names of a record and a field.")
            }
            let token = configuration.clock.secret(32).hexadecimal
            return (name: name, field: place.fieldName, token: token)
        }
        let (limits, sweep) = (configuration.limits, sweep)
        try await storage.write { transaction in
            var database = try transaction.openDatabase(access)
            try transaction.countBytes(of: &database, access)
            let bytesLeft = limits.bytesLeft(in: database, isPublic: access.isPublic)
            guard bytesLeft != 0 else { throw Self.noSpace }
            let zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
            for place in places {
                var row = UploadRow(
                    zone: zone.number, recordName: place.name, fieldName: place.field,
                    expires: expires)
                row.bytesMax = bytesLeft
                try transaction.put(row, at: UploadRow.key(token: place.token))
            }
            try sweep(transaction)
        }
        let tokens = places.map {
            WireUploadToken(
                recordName: $0.name, fieldName: $0.field, url: "\(baseURL)/upload/1/\($0.token)")
        }
        return .json(UploadTokensResponse(tokens: tokens).body())
    }

    private static let noSpace = WireError(.quotaExceeded, "The space is used up.")

    /// Whether an address is one that the hub gave out for an upload, so that nobody else fills its
    /// disk.
    func expectsUpload(_ target: String) -> Bool {
        guard let path = RequestTarget(target)?.path, path.count == 3 else { return false }
        let row = try? storage.read {
            try $0.row(UploadRow.key(token: path[2]), as: UploadRow.self)
        }
        return (row ?? nil).map { $0.expires > now } ?? false
    }

    /// Keeps what was uploaded to an address.
    func keepUpload(_ target: RequestTarget, _ request: HubRequest) async throws -> HubResponse {
        let key = target.path.count == 3 ? UploadRow.key(token: target.path[2]) : nil
        var temporary: String?
        defer { if let temporary { unlink(temporary) } }
        let (checksum, byteCount): (String, Int)
        switch request.body {
        case .file(let path, let count, let digest):
            temporary = path
            (checksum, byteCount) = (digest.hexadecimal, count)
        case .bytes(let bytes):
            let path = assets.incomingPath(configuration.clock.secret(16))
            temporary = path
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            (checksum, byteCount) = (Digest.sha256(bytes).hexadecimal, bytes.count)
        }
        let now = now
        guard let key, target.path[1] == "1",
            let row: UploadRow = try storage.read({ try $0.row(key) }), row.expires > now
        else { throw WireError(.notFound, "There is nothing at this address.") }
        guard byteCount <= configuration.limits.assetBytes else {
            throw WireError(.quotaExceeded, "The file is too large.")
        }
        guard Int64(byteCount) <= row.bytesMax ?? .max else { throw Self.noSpace }
        let receipt = configuration.clock.secret(32).hexadecimal
        let (sweep, end) = (sweep, row.expires + configuration.limits.unusedAssetMilliseconds)
        // First, so that the file stays for now, and goes where nothing else comes to be noted.
        try await storage.write { try $0.keepAsset(checksum, until: end) }
        if let path = temporary { try assets.keep(path, checksum: checksum) }
        try await storage.write { transaction in
            var uploaded = row
            uploaded.checksum = checksum
            uploaded.size = Int64(byteCount)
            try transaction.put(uploaded, at: UploadRow.key(receipt: receipt))
            try transaction.delete(key)
            try sweep(transaction)
        }
        let file = WireAsset(fileChecksum: checksum, size: Int64(byteCount), receipt: receipt)
        return .json(UploadedFileResponse(file: file).body())
    }

    /// Answers with a file.
    func asset(_ target: RequestTarget) throws -> HubResponse {
        let parts = target.path
        let nothing = WireError(.notFound, "There is nothing at this address.")
        guard parts.count == 6, parts[1] == "1", let path = assets.path(parts[2]) else {
            throw nothing
        }
        let key = try storage.read { try $0.state() }.tokenKey
        guard
            AssetAddresses.isValid(
                parts[2], expires: parts[3], mac: parts[4], key: key, now: now),
            assets.holds(parts[2])
        else { throw nothing }
        return HubResponse(
            status: 200,
            headers: [
                HubRequest.Header("Content-Type", "application/octet-stream"),
                HubRequest.Header("Content-Disposition", "attachment"),
                HubRequest.Header("Cache-Control", "private, immutable"),
            ], body: .file(path: path))
    }

    /// Gives out receipts for files that records hold, so that others can hold them too:
    /// `assets/rereference`.
    func rereferenceAssets(_ call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        let request: AssetsRequest = try call.decode()
        _ = try author(of: access)
        try checkCount(request.places.count)
        let expires = now + configuration.limits.addressMilliseconds
        let end = expires + configuration.limits.unusedAssetMilliseconds
        let receipts = request.places.map { _ in configuration.clock.secret(32).hexadecimal }
        let items = try await storage.write { transaction in
            let zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
            return try zip(request.places, receipts).map { place, receipt in
                let name = place.recordName ?? ""
                let record = try transaction.liveRecord(name, in: zone)
                guard case .asset(var asset) = try record?.fields()[place.fieldName]?.value else {
                    return WireItem<WireAsset>.failure(
                        .record(name), WireError(.notFound, "Asset not found"))
                }
                var row = UploadRow(
                    zone: zone.number, recordName: name, fieldName: place.fieldName,
                    expires: expires)
                row.checksum = asset.fileChecksum
                row.size = asset.size
                try transaction.put(row, at: UploadRow.key(receipt: receipt))
                try transaction.keepAsset(asset.fileChecksum ?? "", until: end)
                asset.receipt = receipt
                return .value(asset)
            }
        }
        return .json(AssetsResponse(assets: items).body())
    }
}
