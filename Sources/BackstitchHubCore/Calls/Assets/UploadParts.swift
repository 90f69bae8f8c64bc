import BackstitchCore
import CloudKitWire
import WireCrypto

/// Uploads that come in parts, the extension ``WireExtension/resumableUploads``.
extension AssetCalls {
    /// The most bytes of a part.
    static let partBytesMax = 8 << 20

    /// Refuses a part that comes to no address, or is too large, before its body is read.
    func checkPart(to place: UploadPlace?, length: Int?) throws {
        guard let place, place.row.expires > configuration.now else { throw WireError.nothing }
        guard let length else {
            throw WireError(.badRequest, "A part of an upload tells its Content-Length.")
        }
        guard length <= Self.partBytesMax else {
            throw WireError(
                .limitExceeded, "A part of an upload has \(Self.partBytesMax) bytes at most.")
        }
    }

    /// Tells how far an upload came: where its next part begins.
    func uploadOffset(_ target: RequestTarget, _ work: RequestWork) async throws -> HubResponse {
        let (key, row) = try await upload(target, work)
        let offset =
            try row.size.map { Int($0) } ?? assets.uploadedBytes(at: assets.partsPath(key.bytes))
        return HubResponse(status: 200, headers: [Self.offsetHeader(offset)])
    }

    /// Adds a part to an upload. The last one makes a file of it, and is answered as an upload in one piece
    /// is; sent again, because its sender did not hear of that, it is answered so again, also while the file is
    /// on its way to a bucket.
    ///
    /// A second sender takes the upload over: nothing is locked for the first one.
    func addPart(
        _ target: RequestTarget, _ request: HubRequest, _ work: RequestWork
    ) async throws -> HubResponse {
        let (key, row) = try await upload(target, work)
        guard let partition = key.partition, case .bytes(let part) = request.body,
            part.count <= Self.partBytesMax
        else { throw WireError.nothing }
        guard let offset = Self.number(WireHeader.uploadOffset, of: request),
            let length = Self.number(WireHeader.uploadLength, of: request),
            offset <= length, part.count <= length - offset
        else {
            throw WireError(
                .badRequest,
                "A part tells \(WireHeader.uploadOffset) and \(WireHeader.uploadLength), and lies "
                    + "within.")
        }
        let end = offset + part.count
        // It follows from the token, so that it need not be kept to be told again.
        let receipt = Digest.sha256("receipt \(target.path[2])").hexadecimal
        if let answer = answer(to: row, end: end, of: length, receipt) { return answer }
        if end == length, let answer = try await arrived.answer(to: key, byteCount: length) {
            return answer
        }
        try await reserve(length, for: key, row, work)
        let path = assets.partsPath(key.bytes)
        do {
            try await disk.run(.page, work) { [assets] in
                work.countFile(bytes: part.count)
                try assets.append(part, to: path, at: offset)
            }
        } catch let gap as PartGap {
            return self.gap(at: gap.uploadedBytes)
        }
        guard end == length else {
            var response = HubResponse.object { $0.member("uploadOffset", integer: Int64(end)) }
            response.headers.append(Self.offsetHeader(end))
            return response
        }
        return try await arrived.answer(to: key, byteCount: length) {
            // After this no sender can add to the upload. So the digest is of the bytes that the hub keeps.
            let taken = assets.incomingPath(configuration.clock.secret(16))
            let digest = try await disk.run(.page, work) { [assets] in
                work.countFile(bytes: length)
                return try assets.take(path, byteCount: length, to: taken)
                    ? assets.digest(ofUploadAt: taken) : nil
            }
            guard let digest else { return gap(at: try assets.uploadedBytes(at: path)) }
            do {
                guard let file = HubFile(partition, digest.hexadecimal) else {
                    throw WireError.nothing
                }
                let whole = ArrivedFile(
                    path: taken, file: file, byteCount: length, receipt: receipt,
                    upload: Self.partsKey(of: key))
                if let answer = try await keep(whole, key, row, keepsAddress: true, work) {
                    return answer
                }
            } catch {
                assets.putBack(taken, to: path)
                throw error
            }
            // The file of another sender was kept after the row was read.
            assets.discard(taken)
            uploads.release(Self.partsKey(of: key))
            let (_, now) = try await upload(target, work)
            guard let answer = answer(to: now, end: end, of: length, receipt) else {
                throw WireError.nothing
            }
            return answer
        }
    }

    /// The answer to a part of an upload whose file is kept already; nil if it is not.
    private func answer(
        to row: UploadRow, end: Int, of length: Int, _ receipt: String
    ) -> HubResponse? {
        guard let size = row.size else { return nil }
        guard end == length, length == size else { return gap(at: Int(size)) }
        return Self.uploaded(row, receipt: receipt)
    }

    private func upload(
        _ target: RequestTarget, _ work: RequestWork
    ) async throws -> (HubKey, UploadRow) {
        guard let key = Self.uploadKey(of: target),
            let row = try await storage.readSoon(work, { try self.uploadPlace(target, $0)?.row }),
            row.expires > configuration.now
        else { throw WireError.nothing }
        return (key, row)
    }

    /// Takes the space of the whole upload before its first part is written.
    private func reserve(
        _ length: Int, for key: HubKey, _ row: UploadRow, _ work: RequestWork
    ) async throws {
        guard length <= configuration.limits.assetBytes else {
            throw WireError(.quotaExceeded, "The file is too large.")
        }
        guard Int64(length) <= row.bytesMax ?? .max, let partition = key.partition else {
            throw WireError.noSpace
        }
        let database: DatabaseRow? = try await storage.readSoon(work) {
            try $0.row(DatabaseRow.key(partition))
        }
        let hasSpace = uploads.beginParts(
            Self.partsKey(of: key), to: key, bytes: Int64(length),
            bytesLeft: database.flatMap { configuration.limits.bytesLeft(in: $0) },
            until: row.expires)
        guard hasSpace else { throw WireError.noSpace }
    }

    /// What has the space of an upload in parts.
    private static func partsKey(of key: HubKey) -> HubKey {
        HubKey(.global, .upload).adding(Digest.sha256(key.bytes))
    }

    private static func number(_ name: String, of request: HubRequest) -> Int? {
        guard let text = request.header(name), text.utf8.count <= 18,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(text)
    }

    private static func offsetHeader(_ offset: Int) -> HubRequest.Header {
        HubRequest.Header(WireHeader.uploadOffset, "\(offset)")
    }

    /// The answer to a part that does not begin where the upload stands.
    private func gap(at offset: Int) -> HubResponse {
        var response = HubResponse.failure(
            WireError(.conflict, "The upload goes on at byte \(offset)."),
            uuid: configuration.clock.uuid())
        response.headers.append(Self.offsetHeader(offset))
        return response
    }
}
