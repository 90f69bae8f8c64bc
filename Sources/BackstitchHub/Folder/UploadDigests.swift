import Glibc
import Threading
import WireCrypto

/// The digests of uploads as far as their parts came, so that a file is not read again for its last part.
///
/// Each counts only if the file is as the last part left it. After a restart, or if a part came otherwise
/// than in turn, nothing is known.
final class UploadDigests: Sendable {
    /// What came of an upload.
    final class Upload {
        private let running = RunningDigest()
        private(set) var byteCount = 0
        fileprivate var mark: FileMark?

        /// The digest of all parts.
        var value: [UInt8] { running.value }

        func add(_ part: [UInt8]) {
            part.withUnsafeBytes { running.update($0) }
            byteCount += part.count
        }
    }

    fileprivate struct FileMark: Equatable {
        let number: UInt
        let byteCount: Int
        let seconds: Int
        let nanoseconds: Int

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            (number, byteCount) = (UInt(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    private let uploads = Locked<[String: Upload]>([:])
    /// The most that are known; of more, any is forgotten.
    private static let uploadsMax = 1_024

    /// What is known of an open upload, which is forgotten here; nil if nothing is.
    func take(_ path: String, _ descriptor: Int32) -> Upload? {
        guard let upload = uploads.withLock({ $0.removeValue(forKey: path) }),
            let mark = FileMark(descriptor), mark == upload.mark
        else { return nil }
        return upload
    }

    /// Notes that an upload has another name.
    func move(_ path: String, to other: String) {
        uploads.withLock { $0[other] = $0.removeValue(forKey: path) }
    }

    /// Notes what an open upload is now, unless the disk failed to take the last part.
    func put(_ upload: Upload, _ path: String, _ descriptor: Int32) {
        guard let mark = FileMark(descriptor), mark.byteCount == upload.byteCount else { return }
        upload.mark = mark
        uploads.withLock { uploads in
            if uploads.count >= Self.uploadsMax, let any = uploads.keys.first {
                uploads[any] = nil
            }
            uploads[path] = upload
        }
    }
}
