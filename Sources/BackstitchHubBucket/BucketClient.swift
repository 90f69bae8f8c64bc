import BackstitchHubCore
import Threading
import WireCrypto

/// What a hub does with the objects of a bucket. Calls wait for the network: they have threads of their own.
///
/// Each request is signed, is tried again after a failure that passes, and ends within a time. What an
/// attempt did that was cut does no harm: names of objects are used once.
final class BucketClient: Sendable {
    /// The most bytes of a document of the service.
    private static let documentBytesMax = 4 << 20
    /// The most parts that a service takes of an object.
    static let partsMax = 10_000
    private static let emptyHash = Digest.sha256([UInt8]()).hexadecimal

    let bucket: Bucket
    let metrics = BucketMetrics()
    private let signer: RequestSigner
    private let clock: HubClock
    private let connections: CurlConnections
    /// Wakes those who wait for the next attempt when the hub ends.
    private let ending = Monitor()

    init(_ bucket: Bucket, clock: HubClock) {
        (self.bucket, self.clock) = (bucket, clock)
        signer = RequestSigner(credentials: bucket.credentials, region: bucket.region)
        connections = CurlConnections(bucket)
    }

    /// Has all requests fail, those that are under way too.
    func end() {
        connections.end()
        ending.enter()
        ending.broadcast()
        ending.leave()
    }

    // MARK: Objects

    /// Looks whether the bucket is there and lets the hub in.
    func check() throws {
        let query = [("list-type", "2"), ("max-keys", "1"), ("prefix", bucket.prefix)]
        _ = try send("check", "GET", query: query)
    }

    /// The size of an object in bytes; nil if it is not there.
    ///
    /// - Parameter start: When the call began that asks; now unless given.
    func byteCount(_ key: String, since start: Int64? = nil) throws -> Int? {
        do {
            let reply = try send("head", "HEAD", key, since: start)
            guard let count = reply.headers["content-length"].flatMap({ Int($0) }) else {
                throw BucketFailure(damaged: bucket, "a reply lacks the length of an object")
            }
            return count
        } catch let failure as BucketFailure where failure.kind == .missing {
            return nil
        }
    }

    /// Bytes of an object, as far as it goes.
    ///
    /// - Parameter range: Not empty.
    func read(_ key: String, _ range: Range<Int>) throws -> [UInt8] {
        let text = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        let reply = try send(
            "get", "GET", key, headers: [("range", text)], replyBytesMax: range.count,
            isTransfer: true,
            isRight: { reply in
                // The whole of an object is good in place of a part if it is what was asked for.
                reply.status == 206 && Self.place(reply) == range.lowerBound
                    || reply.status == 200 && range.lowerBound == 0 || reply.status == 416
            })
        return reply.status == 416 ? [] : reply.body
    }

    /// Where a part of an object begins, as a reply tells it.
    private static func place(_ reply: CurlConnections.Reply) -> Int? {
        guard let text = reply.headers["content-range"], text.hasPrefix("bytes ") else {
            return nil
        }
        return Int(text.dropFirst(6).prefix { $0 != "-" })
    }

    /// Makes an object of a file. It is in the bucket when this returns.
    ///
    /// All its requests have the time of one together, which begins again after each part that went well.
    ///
    /// - Parameter sha256: The digest of the file in hexadecimal digits.
    func put(_ key: String, path: String, byteCount: Int, sha256: String) throws {
        var start = clock.steadyMilliseconds()
        if byteCount <= bucket.partBytes {
            let body = CurlConnections.Body.file(
                path: path, offset: 0, byteCount: byteCount, sha256: sha256)
            _ = try send("put", "PUT", key, body: body, isTransfer: true, since: start)
        } else {
            try putInParts(key, path: path, byteCount: byteCount, since: &start)
        }
        // The service's word for it, beside the answer to what was sent.
        guard try self.byteCount(key, since: start) == byteCount else {
            throw BucketFailure(damaged: bucket, "an object is not as long as what was sent")
        }
    }

    /// - Parameter start: When the time began that requests have; it is set when a part went well.
    private func putInParts(
        _ key: String, path: String, byteCount: Int, since start: inout Int64
    ) throws {
        let started = try send("multipart", "POST", key, query: [("uploads", "")], since: start)
        guard let upload = XMLText(started.body).first("UploadId"), !upload.isEmpty else {
            throw BucketFailure(damaged: bucket, "a reply lacks the name of an upload")
        }
        do {
            let partBytes = Self.partBytes(of: byteCount, usual: bucket.partBytes)
            var parts: [(number: Int, tag: String)] = []
            var offset = 0
            while offset < byteCount {
                let count = min(partBytes, byteCount - offset)
                let number = parts.count + 1
                let reply = try send(
                    "part", "PUT", key, query: [("partNumber", "\(number)"), ("uploadId", upload)],
                    body: .file(
                        path: path, offset: offset, byteCount: count,
                        sha256: FileDigest.sha256(path, offset: offset, byteCount: count)),
                    isTransfer: true, since: start,
                    isRight: { $0.status == 200 && $0.headers["etag"] != nil })
                start = clock.steadyMilliseconds()
                parts.append((number, reply.headers["etag"] ?? ""))
                offset += count
            }
            let list = parts.map {
                "<Part><PartNumber>\($0.number)</PartNumber><ETag>\(XMLText.escaped($0.tag))</ETag></Part>"
            }.joined()
            let document =
                "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(list)"
                + "</CompleteMultipartUpload>"
            let query = [("uploadId", upload)]
            do {
                // A service may begin with 200 and fail after it: the document tells.
                _ = try send(
                    "complete", "POST", key, query: query, body: .bytes(Array(document.utf8)),
                    isTransfer: true, since: start,
                    isRight: { XMLText($0.body).first("ETag") != nil })
            } catch let failure as BucketFailure where failure.kind == .missing {
                // An attempt whose answer was lost went well; the size tells.
                guard try self.byteCount(key, since: start) == byteCount else { throw failure }
            }
        } catch {
            // What is left of it goes with its row, if the bucket is away now.
            if mayTry(since: start) {
                _ = try? send("abort", "DELETE", key, query: [("uploadId", upload)], since: start)
            }
            throw error
        }
    }

    /// How large the parts of a file are: as usual, unless these would be too many.
    static func partBytes(of byteCount: Int, usual: Int) -> Int {
        max(usual, (byteCount + partsMax - 1) / partsMax)
    }

    /// Removes an object, and what uploads to its name left that were cut.
    func remove(_ key: String) throws {
        do { _ = try send("delete", "DELETE", key) } catch let failure as BucketFailure
            where failure.kind == .missing
        {}
        let listed = try send("uploads", "GET", query: [("uploads", ""), ("prefix", key)])
        for upload in XMLText(listed.body).elements("Upload") {
            guard upload.first("Key") == key, let id = upload.first("UploadId") else { continue }
            do {
                _ = try send("abort", "DELETE", key, query: [("uploadId", id)])
            } catch let failure as BucketFailure where failure.kind == .missing {}
        }
    }

    // MARK: Requests

    /// Sends a request until it goes well, or a failure does not pass.
    ///
    /// - Parameters:
    ///   - operation: The hub's word for it, in its metrics.
    ///   - key: The name of the object; empty for the bucket.
    ///   - start: When the time began for which new attempts begin; now unless given. The first one is made
    ///     at any time.
    ///   - isRight: Whether a reply is what was asked for; by default each with a status of success.
    private func send(
        _ operation: String, _ method: String, _ key: String = "",
        query: [(String, String)] = [], headers: [(String, String)] = [],
        body: CurlConnections.Body = .none,
        replyBytesMax: Int? = nil, isTransfer: Bool = false, since start: Int64? = nil,
        isRight: (CurlConnections.Reply) -> Bool = { (200...299).contains($0.status) }
    ) throws -> CurlConnections.Reply {
        let path = "/\(bucket.name)" + (key.isEmpty ? "" : "/\(key)")
        let text = RequestSigner.text(ofQuery: query)
        let address =
            bucket.origin + RequestSigner.escaped(path, keepsSlashes: true)
            + (text.isEmpty ? "" : "?\(text)")
        let payload: String
        switch body {
        case .none: payload = Self.emptyHash
        case .bytes(let bytes): payload = Digest.sha256(bytes).hexadecimal
        case .file(_, _, _, let sha256): payload = sha256
        }
        let start = start ?? clock.steadyMilliseconds()
        var attempt = 0
        while true {
            attempt += 1
            let time = RequestSigner.time(clock.milliseconds())
            var signed =
                headers + [
                    ("host", bucket.host), ("x-amz-content-sha256", payload), ("x-amz-date", time),
                ]
            if let token = bucket.credentials.sessionToken {
                signed.append(("x-amz-security-token", token))
            }
            let authorization = signer.authorization(
                RequestSigner.Request(
                    method: method, path: path, query: query, headers: signed,
                    payloadHash: payload), time: time)
            let request = CurlConnections.Request(
                method: method, url: address,
                headers: signed + [("authorization", authorization)], body: body,
                timeoutMilliseconds: isTransfer
                    ? bucket.patience.transferMilliseconds : bucket.patience.requestMilliseconds,
                replyBytesMax: max(replyBytesMax ?? 0, Self.documentBytesMax))
            let failure: BucketFailure
            do throws(CurlConnections.Failure) {
                let reply = try connections.send(request)
                if isRight(reply) {
                    metrics.count(operation, "ok")
                    return reply
                }
                let isSuccess = (200...299).contains(reply.status)
                failure =
                    isSuccess && XMLText(reply.body).first("Code") == nil
                    ? BucketFailure(damaged: bucket, "a reply is not one to what was asked for")
                    : BucketFailure(
                        bucket, status: reply.status, body: reply.body,
                        retryAfter: reply.headers["retry-after"])
            } catch {
                failure = BucketFailure(away: bucket, error.reason)
            }
            metrics.count(operation, failure.kind.rawValue)
            guard failure.isWorthRetrying, attempt < bucket.patience.attempts,
                mayTry(since: start), wait(after: attempt, failure)
            else { throw failure }
        }
    }

    /// Whether a new attempt may begin of what began at a time.
    private func mayTry(since start: Int64) -> Bool {
        clock.steadyMilliseconds() - start < bucket.patience.attemptsMilliseconds
    }

    /// Waits before the next attempt.
    ///
    /// - Returns: Whether there is one.
    private func wait(after attempt: Int, _ failure: BucketFailure) -> Bool {
        let chance = clock.secret(2).reduce(0) { $0 << 8 | Int($1) }
        guard
            let pause = bucket.patience.pause(
                after: attempt, asked: failure.pauseMilliseconds, chance: chance)
        else { return false }
        ending.enter()
        defer { ending.leave() }
        guard !connections.hasEnded else { return false }
        _ = ending.wait(milliseconds: pause)
        return !connections.hasEnded
    }
}

extension Bucket.Patience {
    /// How long to wait before the next attempt, in milliseconds; nil if the service asks for more than there
    /// is to wait.
    ///
    /// - Parameters:
    ///   - asked: What the service asks for.
    ///   - chance: Any number, so that hubs do not come back all at once.
    func pause(after attempt: Int, asked: Int?, chance: Int) -> Int? {
        let doubled = backoffMilliseconds << min(attempt - 1, 16)
        let usual = min(doubled, backoffMillisecondsMax)
        if let asked, asked > backoffMillisecondsMax { return nil }
        return max(asked ?? 0, usual / 2 + chance % (usual / 2 + 1))
    }
}
