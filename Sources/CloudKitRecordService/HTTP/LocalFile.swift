import BackstitchCore
import Glibc

/// What a transfer asks of the system about a file that is not open.
enum LocalFile {
    /// The size of a file in bytes; nil if it is not there.
    static func byteCount(_ path: String) -> Int64? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// The size of a file that is to be sent, in bytes.
    static func byteCount(sending path: String) throws(ServiceError) -> Int64 {
        guard let byteCount = byteCount(path) else {
            throw ServiceError(.assetMissing, "the file '\(path)' can't be read")
        }
        return byteCount
    }

    /// Empties a file.
    static func empty(_ path: String) { _ = unsafe truncate(path, 0) }
}
