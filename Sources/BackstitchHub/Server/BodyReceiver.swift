import BackstitchHubCore
import Glibc
import WireCrypto

/// Takes the body of a request as it comes.
struct BodyReceiver: ~Copyable {
    private let place: Admissions.BodyPlace
    private let length: Int?
    /// What came of a body in memory.
    private(set) var bytes: [UInt8] = []
    private var descriptor: Int32 = -1
    /// The digest of a file; nil of a body in memory.
    private let digest: FileDigest?

    /// A box, because an optional noncopyable value can't be used where it is.
    private final class FileDigest {
        let running = RunningDigest()
    }
    private(set) var byteCount = 0
    /// Whether more came than the place takes; the rest is dropped.
    private(set) var isTooLarge = false
    /// Whether the file can't be written.
    private(set) var hasFailed = false

    /// A receiver for a body of which the length may be known.
    init(_ place: Admissions.BodyPlace, length: Int?) {
        (self.place, self.length) = (place, length)
        switch place {
        case .memory(let bytesMax):
            // What is announced has not come yet, so that little is believed.
            bytes.reserveCapacity(min(length ?? 0, bytesMax, Self.believedBytes))
            digest = nil
        case .file(let path, _):
            descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            hasFailed = descriptor < 0
            digest = FileDigest()
        }
    }

    private static let believedBytes = 64 << 10

    /// How many bytes are kept in memory; nil for a file.
    var bytesInMemory: Int? {
        if case .memory = place { bytes.count } else { nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Takes a part.
    mutating func receive(_ part: UnsafeRawBufferPointer) {
        byteCount += part.count
        switch place {
        case .memory(let bytesMax):
            guard byteCount <= bytesMax else { return drop() }
            if byteCount > bytes.capacity, let length {
                // The more came, the more is believed, so that a large body is seldom copied.
                bytes.reserveCapacity(min(length, bytesMax, 8 * byteCount))
            }
            bytes.append(contentsOf: part)
        case .file(_, let bytesMax):
            guard byteCount <= bytesMax else { return drop() }
            digest?.running.update(part)
            write(part)
        }
    }

    private mutating func drop() {
        isTooLarge = true
        bytes = []
    }

    private mutating func write(_ part: UnsafeRawBufferPointer) {
        var written = 0
        while written < part.count, !hasFailed {
            let count = Glibc.write(
                descriptor, part.baseAddress.map { $0 + written }, part.count - written)
            if count > 0 { written += count } else if errno != EINTR { hasFailed = true }
        }
    }

    /// The whole body; nil if it can't be had, and then nothing is left of it.
    consuming func finish() -> HubRequest.Body? {
        switch place {
        case .memory: return isTooLarge ? nil : .bytes(bytes)
        case .file(let path, _):
            guard !isTooLarge, !hasFailed else {
                unlink(path)
                return nil
            }
            return .file(path: path, byteCount: byteCount, sha256: digest?.running.value ?? [])
        }
    }

    /// Removes what came of a body that does not end.
    consuming func abandon() {
        if case .file(let path, _) = place { unlink(path) }
    }
}
