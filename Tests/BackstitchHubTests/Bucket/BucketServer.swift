import Foundation
import Glibc
import Threading
import WireCrypto

@testable import BackstitchHubBucket

/// An S3-compatible service in this process, on a port of this machine, with faults.
///
/// It checks what a service checks: the signature, the digest of a body, and the tags of parts.
final class BucketServer: Sendable {
    /// What goes wrong with a request.
    enum Fault {
        /// It is done and answered as it should be; the fault behind it is for the next request.
        case pass
        /// Nothing is done.
        case status(Int, code: String, retryAfter: Int? = nil)
        /// Nothing is done, and the connection ends without an answer.
        case cut
        /// It is done, and the connection ends without an answer.
        case lost
        /// It is done, and the body of the answer ends after some bytes.
        case cutReply(bytes: Int)
        /// Nothing is done, and nothing is answered until the client goes, or until ``endSilence()``.
        case silence
        /// It is done, and the answer has another tag than the object.
        case wrongTag
        /// Nothing is done, and the answer is a success whose document is a failure.
        case failureInside
        /// The range that was asked for is ignored.
        case ignoredRange
    }

    struct Seen: Sendable {
        var operation: String
        var target: String
        var head: String
    }

    private struct State {
        var buckets: Set<String> = ["files"]
        var objects: [String: [UInt8]] = [:]
        var uploads: [String: (key: String, parts: [Int: [UInt8]])] = [:]
        var lastUpload = 0
        var faults: [(operation: String, fault: Fault)] = []
        var seen: [Seen] = []
        var isAway = false
        /// The connections at which the service is silent.
        var silent: Set<Int32> = []
    }

    static let credentials = BucketCredentials(
        accessKey: "AKIDEXAMPLE", secret: "a/secret+that=nobody:knows")
    var port: UInt16 { listener.port }
    private let listener: LocalListener
    private let state = Locked(State())

    init() throws {
        listener = try LocalListener()
        listener.start { [weak self] client in
            while self?.serve(client) == true {}
        }
    }

    /// The bucket as hubs are told of it.
    func bucket(
        _ path: String = "files/hub", credentials: BucketCredentials = BucketServer.credentials
    ) throws -> Bucket {
        var bucket = try Bucket("http://127.0.0.1:\(port)/\(path)", credentials: credentials)
        // However busy the machine is, an attempt ends with an answer or a fault.
        bucket.patience.connectMilliseconds = 3_600_000
        bucket.patience.silenceSeconds = 3_600
        bucket.patience.requestMilliseconds = 3_600_000
        bucket.patience.transferMilliseconds = 3_600_000
        bucket.patience.backoffMilliseconds = 2
        bucket.patience.backoffMillisecondsMax = 20
        bucket.partBytes = 64 << 10
        return bucket
    }

    // MARK: What tests see and do

    /// The objects by their names.
    var objects: [String: [UInt8]] {
        get { state.withLock { $0.objects } }
        set { state.withLock { $0.objects = newValue } }
    }

    /// How many uploads in parts were begun and neither ended nor given up.
    var uploadCount: Int { state.withLock { $0.uploads.count } }

    var seen: [Seen] { state.withLock { $0.seen } }

    func count(_ operation: String) -> Int { seen.count { $0.operation == operation } }

    /// Has the next requests of a kind go wrong.
    func fail(_ operation: String, _ faults: Fault...) {
        state.withLock { $0.faults += faults.map { (operation, $0) } }
    }

    /// How many faults have not happened yet.
    var faultsLeft: Int { state.withLock { $0.faults.count } }

    /// Whether a client waits for an answer that does not come.
    var isSilent: Bool { state.withLock { !$0.silent.isEmpty } }

    /// Ends the connections at which the service is silent.
    func endSilence() {
        state.withLock { for client in $0.silent { shutdown(client, Int32(SHUT_RDWR)) } }
    }

    /// Has all connections end without an answer, or no more.
    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    // MARK: Requests

    private struct Arrived {
        var method: String
        var path: String
        var query: [(name: String, value: String)]
        var headers: [String: String]
        var body: [UInt8]
        var head: String

        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

        var operation: String {
            let isObject = path.split(separator: "/").count > 1
            switch (method, value("uploads") != nil, value("uploadId") != nil) {
            case ("POST", true, _): return "begin"
            case ("GET", true, _): return "uploads"
            case ("POST", _, true): return "complete"
            case ("PUT", _, true): return "part"
            case ("DELETE", _, true): return "abort"
            case ("GET", _, _) where !isObject: return "list"
            default: return method.lowercased()
            }
        }
    }

    private struct Answer {
        var status = 200
        var headers: [String] = []
        var body: [UInt8] = []
        /// The length of a body that is not sent.
        var length: Int?

        static func failure(_ status: Int, _ code: String) -> Answer {
            Answer(
                status: status,
                body: Array("<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>".utf8))
        }
    }

    /// Serves one request of a connection.
    ///
    /// - Returns: Whether another one may come.
    private func serve(_ client: Int32) -> Bool {
        guard let request = Self.receive(client) else { return false }
        let operation = request.operation
        let (fault, isAway) = state.withLock { state in
            state.seen.append(
                Seen(operation: operation, target: request.path, head: request.head))
            let index = state.faults.firstIndex { $0.operation == operation }
            return (index.map { state.faults.remove(at: $0).fault }, state.isAway)
        }
        if isAway { return false }
        var answer: Answer
        switch fault {
        case .status(let status, let code, let retryAfter):
            answer = .failure(status, code)
            if let retryAfter { answer.headers.append("Retry-After: \(retryAfter)") }
        case .cut: return false
        case .silence:
            beSilent(client)
            return false
        case .failureInside:
            answer = .failure(200, "InternalError")
        case .ignoredRange: answer = self.answer(request, ignoresRange: true)
        case nil, .pass, .lost, .cutReply, .wrongTag: answer = self.answer(request)
        }
        if case .lost = fault { return false }
        if case .wrongTag = fault {
            answer.headers = answer.headers.map {
                $0.hasPrefix("ETag") ? "ETag: \"00000000000000000000000000000000\"" : $0
            }
        }
        var bytes = Array("HTTP/1.1 \(answer.status) Said\r\n".utf8)
        for header in answer.headers { bytes += Array("\(header)\r\n".utf8) }
        bytes += Array("Content-Length: \(answer.length ?? answer.body.count)\r\n\r\n".utf8)
        var body = request.method == "HEAD" ? [] : answer.body
        var goesOn = true
        if case .cutReply(let count) = fault {
            body = Array(body.prefix(count))
            goesOn = false
        }
        Self.send(bytes + body, to: client)
        return goesOn
    }

    private func beSilent(_ client: Int32) {
        _ = state.withLock { $0.silent.insert(client) }
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
        _ = state.withLock { $0.silent.remove(client) }
    }

    private func answer(_ request: Arrived, ignoresRange: Bool = false) -> Answer {
        if let refusal = refusal(of: request) { return refusal }
        let parts = request.path.dropFirst().split(separator: "/", maxSplits: 1).map(String.init)
        guard let name = parts.first, state.withLock({ $0.buckets.contains(name) }) else {
            return .failure(404, "NoSuchBucket")
        }
        let key = parts.count > 1 ? parts[1] : ""
        return state.withLock { state in
            switch request.operation {
            case "put":
                state.objects[key] = request.body
                return Answer(headers: ["ETag: \(Self.tag(request.body))"])
            case "get":
                guard let object = state.objects[key] else { return .failure(404, "NoSuchKey") }
                guard let range = request.headers["range"], !ignoresRange else {
                    return Answer(body: object)
                }
                let ends = range.dropFirst(6).split(separator: "-").compactMap { Int($0) }
                guard ends.count == 2, ends[0] < object.count else {
                    return .failure(416, "InvalidRange")
                }
                let last = min(ends[1], object.count - 1)
                return Answer(
                    status: 206,
                    headers: ["Content-Range: bytes \(ends[0])-\(last)/\(object.count)"],
                    body: Array(object[ends[0]...last]))
            case "head":
                guard let object = state.objects[key] else { return Answer(status: 404) }
                return Answer(length: object.count)
            case "delete":
                state.objects[key] = nil
                return Answer(status: 204)
            default: return Self.answerOther(request, key, &state)
            }
        }
    }

    private static func answerOther(
        _ request: Arrived, _ key: String, _ state: inout State
    ) -> Answer {
        func document(_ text: String) -> Answer { Answer(body: Array(text.utf8)) }
        let id = request.value("uploadId") ?? ""
        switch request.operation {
        case "begin":
            state.lastUpload += 1
            state.uploads["upload&\(state.lastUpload)"] = (key, [:])
            return document(
                "<InitiateMultipartUploadResult><UploadId>upload&amp;\(state.lastUpload)</UploadId>"
                    + "</InitiateMultipartUploadResult>")
        case "part":
            guard state.uploads[id] != nil, let number = Int(request.value("partNumber") ?? "")
            else {
                return .failure(404, "NoSuchUpload")
            }
            state.uploads[id]?.parts[number] = request.body
            return Answer(headers: ["ETag: \(tag(request.body))"])
        case "complete":
            guard let upload = state.uploads[id] else { return .failure(404, "NoSuchUpload") }
            let told = XMLText(request.body).elements("Part")
            let bytes = told.enumerated().map { index, part -> [UInt8]? in
                guard part.first("PartNumber") == "\(index + 1)",
                    let bytes = upload.parts[index + 1], part.first("ETag") == tag(bytes)
                else { return nil }
                return bytes
            }
            guard bytes.allSatisfy({ $0 != nil }), !bytes.isEmpty else {
                return .failure(400, "InvalidPart")
            }
            state.objects[upload.key] = bytes.flatMap { $0 ?? [] }
            state.uploads[id] = nil
            return document(
                "<CompleteMultipartUploadResult><ETag>&quot;whole&quot;</ETag>"
                    + "</CompleteMultipartUploadResult>")
        case "abort":
            return state.uploads.removeValue(forKey: id) == nil
                ? .failure(404, "NoSuchUpload") : Answer(status: 204)
        case "uploads":
            let prefix = request.value("prefix") ?? ""
            let found = state.uploads.filter { $0.value.key.hasPrefix(prefix) }
            return document(
                "<ListMultipartUploadsResult>"
                    + found.map {
                        "<Upload><Key>\($0.value.key)</Key>"
                            + "<UploadId>\(XMLText.escaped($0.key))</UploadId></Upload>"
                    }.joined() + "</ListMultipartUploadsResult>")
        case "list":
            return document(
                "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        default: return .failure(405, "MethodNotAllowed")
        }
    }

    private static func tag(_ bytes: [UInt8]) -> String {
        "\"\(Digest.sha256(bytes).prefix(16).hexadecimal)\""
    }

    /// What is wrong with the credentials of a request, or with its body; nil if nothing is.
    private func refusal(of request: Arrived) -> Answer? {
        guard let told = request.headers["authorization"],
            let names = told.firstMatch(of: /SignedHeaders=([^,]*),/)?.1.split(separator: ";"),
            let time = request.headers["x-amz-date"],
            let hash = request.headers["x-amz-content-sha256"]
        else { return .failure(403, "AccessDenied") }
        guard told.contains("Credential=\(Self.credentials.accessKey)/") else {
            return .failure(403, "InvalidAccessKeyId")
        }
        let signer = RequestSigner(credentials: Self.credentials, region: "us-east-1")
        let right = signer.authorization(
            RequestSigner.Request(
                method: request.method, path: request.path, query: request.query,
                headers: names.map { (String($0), request.headers[String($0)] ?? "") },
                payloadHash: hash), time: time)
        guard right == told else { return .failure(403, "SignatureDoesNotMatch") }
        guard hash == Digest.sha256(request.body).hexadecimal else {
            return .failure(400, "XAmzContentSHA256Mismatch")
        }
        return nil
    }

    // MARK: Bytes

    private static func receive(_ client: Int32) -> Arrived? {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        var headEnd: Int?
        func more() -> Bool {
            var part = [UInt8](repeating: 0, count: 64 << 10)
            let count = recv(client, &part, part.count, 0)
            guard count > 0 else { return false }
            bytes += part[..<count]
            return true
        }
        while headEnd == nil {
            guard more() else { return nil }
            headEnd = bytes.firstRange(of: end)?.lowerBound
        }
        guard let headEnd else { return nil }
        let head = String(decoding: bytes[..<headEnd], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3, let url = URLComponents(string: "http://host" + words[1]) else {
            return nil
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .trimmingCharacters(in: .whitespaces)
        }
        let length = Int(headers["content-length"] ?? "0") ?? 0
        while bytes.count < headEnd + 4 + length { guard more() else { return nil } }
        return Arrived(
            method: String(words[0]), path: url.path,
            query: (url.queryItems ?? []).map { ($0.name, $0.value ?? "") }, headers: headers,
            body: Array(bytes[(headEnd + 4)...]), head: head)
    }

    private static func send(_ bytes: [UInt8], to client: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    client, $0.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}
