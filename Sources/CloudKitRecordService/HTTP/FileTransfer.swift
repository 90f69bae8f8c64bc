import CCurl
import Foundation
import Glibc

/// The file of a request that is under way. Only the client's thread touches it.
final class FileTransfer {
    private let file: HTTPFile
    private var descriptor: Int32
    private var offset: Int64 = 0
    private var hasBegun = false
    /// What the system did not do; nil if it did all.
    private(set) var failure: String?

    init(_ file: HTTPFile) {
        self.file = file
        switch file.role {
        case .body: descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        case .reply:
            descriptor = unsafe open(file.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        }
        if descriptor < 0 { note("open") }
    }

    deinit { end() }

    /// The bytes of the file that are sent; nil for one that is written.
    var body: Range<Int64>? {
        if case .body(let bytes) = file.role { bytes } else { nil }
    }

    /// Reads the next bytes that are sent; 0 after the last.
    ///
    /// libcurl sends whatever comes, so that no more may come than it was told.
    func read(into data: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let data = unsafe data, let body, descriptor >= 0 else { return Self.abort }
        let left = Int64(body.count) - offset
        let wanted = min(count, Int(left))
        while true {
            let got = unsafe pread(descriptor, data, wanted, Int(body.lowerBound + offset))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else {
                note("read")
                return Self.abort
            }
            offset += Int64(got)
            file.progress(offset)
            return got
        }
    }

    /// Begins again at an offset of what is sent: libcurl may have sent some on a connection that was
    /// closed meanwhile.
    ///
    /// - Returns: What libcurl expects: 0 if it is done.
    func seek(to offset: Int64) -> Int32 {
        guard let body, (0...Int64(body.count)).contains(offset) else { return CURL_SEEKFUNC_FAIL }
        self.offset = offset
        return CURL_SEEKFUNC_OK
    }

    /// What ends a request that reads no further: `CURL_READFUNC_ABORT`.
    private static let abort = 0x1000_0000

    /// Writes bytes of the reply; 0 ends the request.
    ///
    /// - Parameter isPart: Whether the service sends what was asked for, and not the whole.
    func write(_ data: UnsafePointer<CChar>?, _ count: Int, isPart: Bool) -> Int {
        guard let data = unsafe data, descriptor >= 0, case .reply(let start) = file.role else {
            return 0
        }
        if !hasBegun {
            hasBegun = true
            offset = isPart ? start : 0
            guard ftruncate(descriptor, Int(offset)) == 0 else {
                note("write")
                return 0
            }
        }
        var done = 0
        while done < count {
            let got = unsafe pwrite(descriptor, data + done, count - done, Int(offset))
            if got < 0, errno == EINTR { continue }
            guard got > 0 else {
                note("write")
                return 0
            }
            done += got
            offset += Int64(got)
        }
        file.progress(offset)
        return count
    }

    /// Closes the file.
    func end() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    private func note(_ what: String) {
        let reason = unsafe String(cString: strerror(errno))
        failure = "The system can't \(what) the file '\(file.path)': \(reason)."
    }
}
