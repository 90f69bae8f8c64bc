import Glibc
import WireCrypto

/// The digest of a part of a file.
enum FileDigest {
    /// The SHA-256 of a part of a file in hexadecimal digits; of what there is, if it is shorter.
    static func sha256(_ path: String, offset: Int, byteCount: Int) throws -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            throw CurlConnections.Failure(reason: "an upload can't be read")
        }
        defer { close(descriptor) }
        let digest = RunningDigest()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var done = 0
        while done < byteCount {
            let count = unsafe pread(
                descriptor, buffer.baseAddress, min(buffer.count, byteCount - done), offset + done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            unsafe digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            done += count
        }
        return digest.value.hexadecimal
    }
}
