import BackstitchCore
import Glibc

/// A file that is read in parts.
final class FileParts: Sendable {
    private let descriptor: Int32
    /// Its size in bytes.
    let byteCount: Int

    init(_ path: String) throws(ServiceError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw ServiceError(.assetMissing, "the file '\(path)' can't be read")
        }
        byteCount = Int(status.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Bytes from an offset, as many as asked for or fewer at the end.
    func read(at offset: Int, count: Int) throws(ServiceError) -> [UInt8] {
        let wanted = max(0, min(count, byteCount - offset))
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            while count < wanted {
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count..<wanted])
                let got = pread(descriptor, part.baseAddress, part.count, offset + count)
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                count += got
            }
        }
        guard isWhole else { throw ServiceError(.assetMissing, "a file can't be read to its end") }
        return bytes
    }

    /// The size of a file; nil if it is not there.
    static func byteCount(ofFileAt path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Empties a file.
    static func truncate(_ path: String) { _ = Glibc.truncate(path, 0) }
}
