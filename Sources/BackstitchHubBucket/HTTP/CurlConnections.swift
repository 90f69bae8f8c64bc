import CCurl
import Glibc
import Threading

/// Sends requests through libcurl on the threads of its callers, and keeps connections for those that follow.
///
/// Invariant: a handle is used by one thread at a time, which takes it out of the idle ones.
final class CurlConnections: Sendable {
    /// What is sent behind the head.
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A part of a file, by its offset and its length in bytes, with its digest in hexadecimal digits.
        case file(path: String, offset: Int, byteCount: Int, sha256: String)
    }

    struct Request: Sendable {
        var method: String
        var url: String
        var headers: [(name: String, value: String)]
        var body = Body.none
        /// How long the whole may take.
        var timeoutMilliseconds: Int
        /// The most bytes of the reply.
        var replyBytesMax: Int
    }

    struct Reply: Sendable {
        var status: Int
        /// Names in lower case; of several of a name the last.
        var headers: [String: String]
        var body: [UInt8]
    }

    /// Why no reply came, in words of libcurl.
    struct Failure: Error {
        let reason: String
    }

    /// The most connections that are kept.
    private static let idleMax = 16
    /// Idle connections are dropped before servers commonly do it, in seconds.
    private static let idleSeconds = 20

    private let idle = Locked<[CurlHandle]>([])
    private let patience: Bucket.Patience
    private let certificates: String?
    private let ended = Locked(false)

    /// Whether all requests fail, because the hub ends.
    var hasEnded: Bool { ended.withLock { $0 } }

    /// Has all requests fail, those that are under way within a second.
    func end() { ended.withLock { $0 = true } }

    init(_ bucket: Bucket) {
        (patience, certificates) = (bucket.patience, bucket.certificates)
        // Safe from any thread since 7.84; without it the first handle does the same.
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }

    /// Sends a request, and waits for the reply.
    func send(_ request: Request) throws(Failure) -> Reply {
        guard let handle = idle.withLock({ $0.popLast() }) ?? CurlHandle() else {
            throw Failure(reason: "there is no memory for a request")
        }
        defer {
            idle.withLock { idle in
                if idle.count < Self.idleMax { idle.append(handle) }
            }
        }
        return try unsafe CurlTransfer(request, of: self).run(
            handle.pointer, patience, idleSeconds: Self.idleSeconds, certificates: certificates)
    }
}

/// A handle of libcurl with its connections.
///
/// Unchecked because libcurl's pointer is not `Sendable`: one thread at a time takes it out of the pool and uses it.
@safe final class CurlHandle: @unchecked Sendable {  // One thread at a time has it out of the pool.
    let pointer: UnsafeMutableRawPointer

    /// nil if there is no memory.
    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe curl_easy_cleanup(pointer) }
}
