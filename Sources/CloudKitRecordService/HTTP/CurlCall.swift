import CCurl
import Foundation

/// One request on its way. Only the client's thread touches it once it was given to that.
@safe final class CurlCall: @unchecked Sendable {  // Only the client's thread touches it.
    /// The most bytes of a reply.
    static let replyBytesMax = 64 << 20
    /// A transfer that is slower than this many bytes a second for half of its time is ended.
    private static let slowBytes = 1
    private static let connectMilliseconds = 10_000
    /// What is read of a file at a time.
    private static let uploadBufferBytes = 512 << 10
    /// Idle connections are dropped before servers commonly do it, in seconds.
    private static let idleSeconds = 45

    let id: UInt64
    let request: HTTPRequest
    private let continuation: CheckedContinuation<Result<HTTPReply, HTTPFailure>, Never>
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var headers: [String: String] = [:]
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private(set) var handle: UnsafeMutableRawPointer?
    private var transfer: FileTransfer?

    init(
        id: UInt64, request: HTTPRequest,
        continuation: CheckedContinuation<Result<HTTPReply, HTTPFailure>, Never>
    ) {
        self.id = id
        self.request = request
        self.continuation = continuation
    }

    deinit {
        unsafe curl_slist_free_all(headerList)
        if let handle = unsafe handle { unsafe curl_easy_cleanup(handle) }
    }

    /// Makes libcurl's handle; nil if there is no memory.
    func prepare(certificates: String?) -> UnsafeMutableRawPointer? {
        guard let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = unsafe handle
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe backstitch_set_text(handle, CURLOPT_URL, request.url)
        _ = unsafe backstitch_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        // A part of a file has to come as it is.
        if request.file == nil {
            _ = unsafe backstitch_set_text(handle, CURLOPT_ACCEPT_ENCODING, "")
        }
        _ = unsafe backstitch_set_text(handle, CURLOPT_USERAGENT, "Backstitch")
        if let certificates { _ = unsafe backstitch_set_text(handle, CURLOPT_CAINFO, certificates) }
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
        // A file takes as long as it takes, unless it stands still.
        set(CURLOPT_TIMEOUT_MS, request.file == nil ? request.timeoutMilliseconds : 0)
        set(CURLOPT_MAXAGE_CONN, Self.idleSeconds)
        if !request.isLongPoll {
            set(CURLOPT_LOW_SPEED_LIMIT, Self.slowBytes)
            set(CURLOPT_LOW_SPEED_TIME, max(1, request.timeoutMilliseconds / 2_000))
        }
        // Without this libcurl waits for a word from the server before it sends a large body.
        unsafe headerList = unsafe curl_slist_append(nil, "Expect:")
        for header in request.headers {
            unsafe headerList = unsafe curl_slist_append(
                headerList, "\(header.name): \(header.value)")
        }
        _ = unsafe backstitch_set_list(handle, CURLOPT_HTTPHEADER, headerList)
        if let file = request.file { transfer = FileTransfer(file) }
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        if request.method == "PATCH" {
            _ = unsafe backstitch_set_text(handle, CURLOPT_CUSTOMREQUEST, "PATCH")
        }
        if let body = transfer?.body {
            set(CURLOPT_POST, 1)
            set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
            _ = unsafe backstitch_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(body.count))
            _ = unsafe backstitch_set_pointer(handle, CURLOPT_READDATA, context)
            _ = unsafe backstitch_set_function(handle, CURLOPT_READFUNCTION) {
                data, size, count, context in
                unsafe CurlCall.of(context)?.transfer?.read(into: data, size * count) ?? 0
            }
            _ = unsafe backstitch_set_pointer(handle, CURLOPT_SEEKDATA, context)
            _ = unsafe backstitch_set_seek(handle) { context, offset, _ in
                // libcurl counts from the beginning only.
                unsafe CurlCall.of(context)?.transfer?.seek(to: Int64(offset)) ?? CURL_SEEKFUNC_FAIL
            }
        } else if request.method == "POST" || request.method == "PATCH" {
            set(CURLOPT_POST, 1)
            set(CURLOPT_POSTFIELDSIZE, request.body.count)
            unsafe request.body.withUnsafeBytes { bytes in
                // libcurl copies the bytes; an empty body is one too.
                let start = unsafe bytes.baseAddress ?? UnsafeRawPointer(context)
                _ = unsafe backstitch_set_pointer(
                    handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
            }
        }
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_PRIVATE, context)
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_WRITEDATA, context)
        _ = unsafe backstitch_set_pointer(handle, CURLOPT_HEADERDATA, context)
        _ = unsafe backstitch_set_function(handle, CURLOPT_WRITEFUNCTION) {
            data, size, count, context in
            unsafe CurlCall.of(context)?.take(data, size * count) ?? 0
        }
        _ = unsafe backstitch_set_function(handle, CURLOPT_HEADERFUNCTION) {
            data, size, count, context in
            unsafe CurlCall.of(context)?.take(header: data, size * count) ?? 0
        }
        return unsafe handle
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = unsafe backstitch_set_number(handle, option, value)
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlCall? {
        unsafe context.map { unsafe Unmanaged<CurlCall>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The call of a handle.
    static func of(handle: UnsafeMutableRawPointer) -> CurlCall? {
        unsafe of(backstitch_context(handle))
    }

    /// Takes a part of the body; 0 ends the transfer.
    private func take(_ data: UnsafePointer<CChar>?, _ count: Int) -> Int {
        if let transfer, transfer.body == nil, let handle = unsafe handle {
            let status = unsafe Int(backstitch_status(handle))
            if status == 200 || status == 206 {
                return unsafe transfer.write(data, count, isPart: status == 206)
            }
        }
        guard body.count + count <= Self.replyBytesMax else {
            isTooLarge = true
            return 0
        }
        unsafe body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
        return count
    }

    private func take(header data: UnsafePointer<CChar>?, _ count: Int) -> Int {
        let line = unsafe String(
            decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2 {
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(
                in: .whitespacesAndNewlines)
        }
        return count
    }

    /// Answers the caller.
    func finish(_ result: CURLcode) {
        guard result == CURLE_OK, let handle = unsafe handle else {
            if isTooLarge {
                return fail("The reply is larger than \(Self.replyBytesMax >> 20) MiB.")
            }
            return unsafe fail(String(cString: curl_easy_strerror(result)))
        }
        let reply = unsafe HTTPReply(
            status: Int(backstitch_status(handle)), headers: headers, body: body,
            elapsedMilliseconds: Int64(backstitch_elapsed_microseconds(handle) / 1_000),
            sentBytes: backstitch_uploaded_bytes(handle))
        transfer?.end()
        continuation.resume(returning: .success(reply))
    }

    /// Answers the caller with a failure.
    func fail(_ message: String) {
        let sent = unsafe handle.map { unsafe backstitch_uploaded_bytes($0) } ?? 0
        let text = transfer?.failure ?? message
        transfer?.end()
        continuation.resume(returning: .failure(HTTPFailure(message: text, sentBytes: sent)))
    }
}
