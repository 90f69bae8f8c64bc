import CCurl
import Glibc

/// One request on the thread of its caller.
final class CurlTransfer {
    private typealias Failure = CurlConnections.Failure

    private let request: CurlConnections.Request
    private var descriptor: Int32 = -1
    /// What was sent of the body.
    private var sent = 0
    private var received: [UInt8] = []
    private var headers: [String: String] = [:]
    private var isTooLong = false

    private let connections: CurlConnections

    init(_ request: CurlConnections.Request, of connections: CurlConnections) {
        (self.request, self.connections) = (request, connections)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func run(
        _ handle: UnsafeMutableRawPointer, _ patience: Bucket.Patience, idleSeconds: Int,
        certificates: String?
    ) throws(CurlConnections.Failure) -> CurlConnections.Reply {
        // Its connections stay.
        unsafe curl_easy_reset(handle)
        func set(_ option: CURLoption, _ value: Int) {
            _ = unsafe backstitch_set_number(handle, option, value)
        }
        _ = unsafe backstitch_set_text(handle, CURLOPT_URL, request.url)
        _ = unsafe backstitch_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        _ = unsafe backstitch_set_text(handle, CURLOPT_USERAGENT, "Backstitch")
        _ = unsafe backstitch_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
        if let certificates { _ = unsafe backstitch_set_text(handle, CURLOPT_CAINFO, certificates) }
        // What is signed is sent as it is, to the one that it is signed for.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, patience.connectMilliseconds)
        set(CURLOPT_TIMEOUT_MS, request.timeoutMilliseconds)
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, patience.silenceSeconds)
        set(CURLOPT_MAXAGE_CONN, idleSeconds)
        // Without this libcurl waits for a word from the server before it sends a body.
        var list = unsafe curl_slist_append(nil, "Expect:")
        for header in request.headers {
            unsafe list = unsafe curl_slist_append(list, "\(header.name): \(header.value)")
        }
        defer { unsafe curl_slist_free_all(list) }
        _ = unsafe backstitch_set_list(handle, CURLOPT_HTTPHEADER, list)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        if let byteCount = try openBody() {
            set(CURLOPT_UPLOAD, 1)
            _ = unsafe backstitch_set_offset(handle, CURLOPT_INFILESIZE_LARGE, Int64(byteCount))
            _ = unsafe backstitch_set_pointer(handle, CURLOPT_READDATA, context)
            _ = unsafe backstitch_set_function(handle, CURLOPT_READFUNCTION) {
                data, size, count, context in
                unsafe CurlTransfer.of(context)?.give(into: data, size * count) ?? 0
            }
        }
        // It is called about once a second also where nothing comes and nothing goes.
        set(CURLOPT_NOPROGRESS, 0)
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_XFERINFODATA, context)
        _ = unsafe backstitch_set_progress(handle) { context, _, _, _, _ in
            unsafe CurlTransfer.of(context)?.connections.hasEnded == true ? 1 : 0
        }
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_WRITEDATA, context)
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_HEADERDATA, context)
        _ = unsafe backstitch_set_function(handle, CURLOPT_WRITEFUNCTION) {
            data, size, count, context in
            unsafe CurlTransfer.of(context)?.take(data, size * count) ?? 0
        }
        _ = unsafe backstitch_set_function(handle, CURLOPT_HEADERFUNCTION) {
            data, size, count, context in
            unsafe CurlTransfer.of(context)?.take(header: data, size * count) ?? 0
        }
        let result = withExtendedLifetime(self) { unsafe curl_easy_perform(handle) }
        if isTooLong { throw Failure(reason: "it answers with more than was asked for") }
        guard result == CURLE_OK else {
            throw unsafe Failure(reason: String(cString: curl_easy_strerror(result)))
        }
        return unsafe CurlConnections.Reply(
            status: Int(backstitch_status(handle)), headers: headers, body: received)
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        unsafe context.map { unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Opens what is sent.
    ///
    /// - Returns: Its length; nil if there is no body.
    private func openBody() throws(CurlConnections.Failure) -> Int? {
        switch request.body {
        case .none: return nil
        case .bytes(let bytes): return bytes.count
        case .file(let path, _, let byteCount, _):
            descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { throw Failure(reason: "an upload can't be read") }
            return byteCount
        }
    }

    /// Gives the next bytes of the body.
    private func give(into data: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
        guard let data = unsafe data else { return 0 }
        switch request.body {
        case .none: return 0
        case .bytes(let bytes):
            let count = min(room, bytes.count - sent)
            unsafe bytes.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress { unsafe memcpy(data, start + sent, count) }
            }
            sent += count
            return count
        case .file(_, let offset, let byteCount, _):
            var count = unsafe pread(descriptor, data, min(room, byteCount - sent), offset + sent)
            while count < 0, errno == EINTR {
                count = unsafe pread(descriptor, data, min(room, byteCount - sent), offset + sent)
            }
            // A file that became shorter ends the transfer, since less comes than was announced.
            guard count >= 0 else { return Int(CURL_READFUNC_ABORT) }
            sent += count
            return count
        }
    }

    /// Takes a part of the reply; 0 ends the transfer.
    private func take(_ data: UnsafePointer<CChar>?, _ count: Int) -> Int {
        guard received.count + count <= request.replyBytesMax else {
            isTooLong = true
            return 0
        }
        unsafe received.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
        return count
    }

    private func take(header data: UnsafePointer<CChar>?, _ count: Int) -> Int {
        let line = unsafe String(
            decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
        if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0.isWhitespace }
            headers[line[..<colon].lowercased()] = String(value.prefix { !$0.isNewline })
        }
        return count
    }
}
