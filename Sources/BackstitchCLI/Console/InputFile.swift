import Glibc

/// A file, or standard input, that is read in parts.
final class InputFile {
    private static let partBytes = 1 << 18

    private let descriptor: Int32
    private let path: String
    /// The size in bytes; nil where that is not known.
    let size: Int?

    /// Opens a file; `-` is standard input.
    init(_ path: String) throws {
        self.path = path
        if path == "-" {
            descriptor = STDIN_FILENO
            size = nil
            return
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw Refusal("'\(path)' can't be opened: \(String(cString: strerror(errno))).")
        }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { if descriptor > STDERR_FILENO { close(descriptor) } }

    /// The next part; nil at the end.
    func next() throws -> [UInt8]? {
        var part = [UInt8](repeating: 0, count: Self.partBytes)
        while true {
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Refusal("'\(path)' can't be read: \(String(cString: strerror(errno))).")
            }
            return count == 0 ? nil : Array(part[..<count])
        }
    }
}
