import Backstitch
import Foundation
import Glibc
import Terminal

/// A file that an export is written to, new or to be continued.
final class ExportFile {
    /// The most bytes of a line that is looked for at the end of a file.
    private static let lineBytesMax = Store.importLineBytesMax

    let output: Output
    private let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        output = Output(descriptor: descriptor)
    }

    deinit { close(descriptor) }

    /// Makes a file, unless one is there.
    static func create(_ path: String) throws -> ExportFile {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno != EEXIST else {
                throw Refusal(
                    "'\(path)' exists. Give the path of a new file, or --resume to go on with it.")
            }
            throw Refusal(unsafe "'\(path)' can't be made: \(String(cString: strerror(errno))).")
        }
        return ExportFile(descriptor)
    }

    /// Opens a file that was cut, takes a line without an end from it, and finds its last line.
    static func resume(_ path: String) throws -> (file: ExportFile, last: [UInt8]?) {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Refusal(unsafe "'\(path)' can't be opened: \(String(cString: strerror(errno))).")
        }
        let file = ExportFile(descriptor)
        let size = Int(lseek(descriptor, 0, SEEK_END))
        guard size >= 0 else { throw Refusal("'\(path)' is no file that can be gone on with.") }
        let end = try file.lineStart(before: size)
        let start = end > 0 ? try file.lineStart(before: end - 1) : 0
        let last = end > 0 ? try file.read(start..<(end - 1)) : nil
        guard ftruncate(descriptor, off_t(end)) == 0, lseek(descriptor, 0, SEEK_END) >= 0 else {
            throw Refusal(unsafe "'\(path)' can't be written: \(String(cString: strerror(errno))).")
        }
        return (file, last)
    }

    /// The offset after the last line end before another offset; 0 if no line ends before that.
    private func lineStart(before offset: Int) throws -> Int {
        let chunkBytes = 1 << 16
        var end = offset
        while end > 0 {
            let start = max(0, end - chunkBytes)
            if let found = try read(start..<end).lastIndex(of: 0x0A) { return start + found + 1 }
            guard offset - start <= Self.lineBytesMax else {
                throw Refusal("The file has a longer line than an export has. Export to a new one.")
            }
            end = start
        }
        return 0
    }

    private func read(_ range: Range<Int>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + done }, range.count - done,
                    off_t(range.lowerBound + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Refusal("The file can't be read.") }
            done += count
        }
        return bytes
    }

    /// Puts everything on disk.
    func finish() throws {
        output.flush()
        if let reason = output.failure { throw Refusal("The file can't be written: \(reason).") }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw Refusal(unsafe "The file can't be written: \(String(cString: strerror(errno))).")
        }
    }
}

/// Why the program does not do what it was told to; the message says what to do.
struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
