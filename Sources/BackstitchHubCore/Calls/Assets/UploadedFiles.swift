import BackstitchCore
import CloudKitWire
import WireCrypto

extension AssetCalls {
    /// Takes the head of an upload: only a file for which the hub gave an address may come. Its space is
    /// reserved from now on, so that other uploads do not fill the disk.
    ///
    /// - Parameter length: The bytes that come; nil if that is not told.
    /// - Returns: How many bytes may come.
    func begin(
        _ request: inout HubRequest, to place: UploadPlace?, length: Int?
    ) throws -> Int {
        guard let place, place.row.expires > configuration.now else { throw WireError.nothing }
        let (key, row) = (place.key, place.row)
        let bytesMax = min(row.bytesMax ?? .max, Int64(configuration.limits.assetBytes))
        let bytes = length.map { Int64($0) } ?? bytesMax
        let upload = HubKey(.global, .upload).adding(configuration.clock.secret(32))
        guard
            uploads.begin(
                upload, to: key, bytes: min(bytes, bytesMax),
                bytesLeft: place.database.flatMap { configuration.limits.bytesLeft(in: $0) })
        else { throw WireError.noSpace }
        request.upload = upload
        return Int(clamping: bytesMax)
    }

    /// What is known of the address of an upload.
    struct UploadPlace: Sendable {
        let key: HubKey
        let row: UploadRow
        /// The database that it is for.
        let database: DatabaseRow?
    }

    /// The rows behind the address of an upload; nil if the target is no such address.
    func uploadPlace(
        _ target: RequestTarget, _ transaction: any HubReading
    ) throws -> UploadPlace? {
        guard let key = Self.uploadKey(of: target), let partition = key.partition else {
            return nil
        }
        transaction.expect { [.key(key), .key(DatabaseRow.key(partition))] }
        let row: UploadRow? = try transaction.row(key)
        let database: DatabaseRow? = try transaction.row(DatabaseRow.key(partition))
        return row.map { UploadPlace(key: key, row: $0, database: database) }
    }

    /// The key of the row of an upload's address; nil if the target is no such address.
    static func uploadKey(of target: RequestTarget) -> HubKey? {
        guard target.path.count == 3, target.path[1] == "1",
            let (partition, _) = Partition.split(target.path[2])
        else { return nil }
        return UploadRow.key(partition, token: target.path[2])
    }

    /// Keeps what was uploaded to an address.
    ///
    /// Of several uploads to one address one is taken.
    func keepUpload(
        _ target: RequestTarget, _ request: HubRequest, _ work: RequestWork
    ) async throws -> HubResponse {
        let temporary: String
        defer { if let upload = request.upload { uploads.release(upload) } }
        let (checksum, byteCount): (String, Int)
        switch request.body {
        case .file(let path, let count, let digest):
            temporary = path
            (checksum, byteCount) = (digest.hexadecimal, count)
        case .bytes(let bytes):
            let path = assets.incomingPath(configuration.clock.secret(16))
            temporary = path
            try await disk.run(.page, work) { [assets] in
                work.countFile(bytes: bytes.count)
                try assets.write(bytes, to: path)
            }
            (checksum, byteCount) = (Digest.sha256(bytes).hexadecimal, bytes.count)
        }
        defer { assets.discard(temporary) }
        let now = configuration.now
        guard let key = Self.uploadKey(of: target), let partition = key.partition,
            let file = HubFile(partition, checksum),
            let row = try await storage.readSoon(work, { try self.uploadPlace(target, $0)?.row }),
            row.expires > now, row.checksum == nil
        else { throw WireError.nothing }
        let arrived = ArrivedFile(
            path: temporary, file: file, byteCount: byteCount,
            receipt: configuration.clock.secret(32).hexadecimal, upload: request.upload)
        guard let answer = try await keep(arrived, key, row, keepsAddress: false, work) else {
            throw WireError.nothing
        }
        return answer
    }

    /// A file that came as a whole and has no name yet.
    struct ArrivedFile: Sendable {
        let path: String
        let file: HubFile
        let byteCount: Int
        let receipt: String
        /// What has its space.
        let upload: HubKey?
    }

    /// Keeps a file that came to an address, and answers with its receipt. It writes twice, and each write
    /// waits for its turn as long as those of other requests.
    ///
    /// - Parameter keepsAddress: Whether the address stays, and says that the file came.
    /// - Returns: nil if the address has another file, or has ended. The file that came is not kept then.
    func keep(
        _ arrived: ArrivedFile, _ key: HubKey, _ row: UploadRow, keepsAddress: Bool,
        _ work: RequestWork
    ) async throws -> HubResponse? {
        let (byteCount, partition) = (arrived.byteCount, arrived.file.partition)
        let objects = assets.objects
        var named = arrived.file
        if objects != nil {
            named.object = HubFile.Object(
                name: configuration.clock.secret(16).hexadecimal, byteCount: byteCount)
        }
        let file = named
        guard byteCount <= configuration.limits.assetBytes else {
            throw WireError(.quotaExceeded, "The file is too large.")
        }
        guard Int64(byteCount) <= row.bytesMax ?? .max else { throw WireError.noSpace }
        let (receipt, upload) = (UploadRow.key(partition, receipt: arrived.receipt), arrived.upload)
        let (sweep, end) = (
            sweeper.sweep(of: partition), row.expires + configuration.limits.unusedAssetMilliseconds
        )
        var uploaded = row
        uploaded.checksum = file.checksum
        uploaded.size = Int64(byteCount)
        let done = uploaded
        // First, so that the file stays for now, and goes if nothing else comes to be noted; and so
        // that nobody else's comes to the same address.
        let (limits, uploads) = (configuration.limits, uploads)
        work.limit(milliseconds: limits.requestMilliseconds)
        let isTaken = try await storage.write(
            work, to: [partition],
            expecting: {
                [.key(key), .key(DatabaseRow.key(partition)), .key(AssetRow.key(file))]
            }
        ) { transaction in
            guard let now: UploadRow = try transaction.row(key), now.checksum == nil else {
                return false
            }
            if let database: DatabaseRow = try transaction.row(DatabaseRow.key(partition)) {
                let hasSpace = uploads.take(
                    key, receipt: receipt, upload: upload,
                    bytes: Int64(byteCount), bytesLeft: limits.bytesLeft(in: database), until: end)
                guard hasSpace else { throw WireError.noSpace }
            }
            if !keepsAddress { try transaction.delete(key) }
            try transaction.keepAsset(file, until: end)
            if file.object != nil { try transaction.begin(file, until: end) }
            return true
        }
        guard isTaken else { return nil }
        // It waits for the disk, or the bucket, where uploads leave threads for downloads.
        try await (objects?.pool ?? disk).run(objects == nil ? .page : .scan, work) { [assets] in
            work.countFile(bytes: byteCount)
            try assets.keep(arrived.path, as: file)
        }
        let othersUntil = configuration.now + limits.unusedAssetMilliseconds
        work.limit(milliseconds: limits.requestMilliseconds)
        try await storage.write(
            work, to: [partition],
            expecting: {
                Expiry.expected(in: partition)
                    + (objects == nil ? [] : [ObjectRow.expected(file)])
            }
        ) { transaction in
            guard try file.object == nil || transaction.complete(file, othersUntil: othersUntil)
            else {
                throw WireError.busy("The file took too long to be kept.")
            }
            try transaction.put(done, at: receipt)
            if keepsAddress { try transaction.put(done, at: key) }
            try sweep(transaction)
        }
        sweeper.removeObjectsSoon()
        return Self.uploaded(done, receipt: arrived.receipt)
    }

    /// The answer to a whole upload.
    static func uploaded(_ row: UploadRow, receipt: String) -> HubResponse {
        let asset = ServiceAsset(fileChecksum: row.checksum, size: row.size, receipt: receipt)
        return .json(UploadedFileResponse(file: asset).body())
    }

    /// Answers with a file, or with the part of it that is asked for.
    func asset(
        _ target: RequestTarget, _ request: HubRequest, _ work: RequestWork
    ) async throws -> HubResponse {
        let parts = target.path
        guard parts.count == 6, parts[1] == "1", let named = HubFile(text: parts[2]) else {
            throw WireError.nothing
        }
        let (key, file) = try await storage.readSoon(work) { [assets] transaction in
            let hasObjects = assets.objects != nil
            transaction.expect {
                [.key(StateRow.key)]
                    + (hasObjects ? [ObjectRow.expected(named)] : [])
            }
            return try (
                transaction.state().tokenKey, hasObjects ? transaction.located(named) : named
            )
        }
        guard
            AssetAddresses.isValid(
                file, expires: parts[3], mac: parts[4], key: key, now: configuration.now),
            let byteCount = try file.object?.byteCount ?? assets.byteCount(file)
        else { throw WireError.nothing }
        let tag = "\"\(file.checksum)\""
        var response = HubResponse(
            status: 200,
            headers: [
                HubRequest.Header("Content-Type", "application/octet-stream"),
                HubRequest.Header("Content-Disposition", "attachment"),
                HubRequest.Header("Cache-Control", "private, immutable"),
                HubRequest.Header("Accept-Ranges", "bytes"),
                HubRequest.Header("ETag", tag),
            ])
        switch ByteRange(request, tag: tag, byteCount: byteCount) {
        case .whole: response.body = try await body(of: file, nil, work)
        case .part(let part):
            response.status = 206
            response.body = try await body(of: file, part, work)
            let place = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(byteCount)"
            response.headers.append(HubRequest.Header("Content-Range", place))
        case .outside:
            response = .failure(
                WireError(.badRequest, "The file has \(byteCount) bytes."),
                uuid: configuration.clock.uuid())
            response.status = 416
            response.headers.append(HubRequest.Header("Content-Range", "bytes */\(byteCount)"))
        }
        return response
    }

    /// A file as a body, or a part of it. Of an object the first piece is fetched, so that a bucket that is away
    /// is told of by a status.
    private func body(
        of file: HubFile, _ part: Range<Int>?, _ work: RequestWork
    ) async throws -> HubResponse.Body {
        guard let object = file.object, let objects = assets.objects else {
            let path = assets.path(file)
            return part.map {
                .filePart(path: path, offset: $0.lowerBound, byteCount: $0.count)
            } ?? .file(path: path)
        }
        let remote = RemoteFile(
            file, part ?? 0..<object.byteCount, files: assets, pool: objects.pool, work)
        do {
            let start = try await objects.pool.run(.page, work) { try remote.readPiece(at: 0) }
            return start.count == remote.byteCount
                ? .bytes(start) : .remote(remote.beginning(with: start))
        } catch let failure as any StorageFailure where !failure.isPassing {
            // The row names it, and the bucket has it no more.
            configuration.log(failure: failure, call: "asset")
            throw WireError.nothing
        }
    }
}
