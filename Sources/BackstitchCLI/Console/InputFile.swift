import Glibc
import Terminal

/// A file, or standard input, that is read in parts.
final class InputFile {
    private static let partBytes = 1 << 18

    private let descriptor: Int32
    private let path: String
    /// The size in bytes; nil if that is not known.
    let size: Int?

    /// Opens a file; `-` is standard input.
    ///
    /// - Parameter option: The option that names it, if one does.
    init(_ path: String, of option: Syntax.Option? = nil) throws {
        self.path = path
        if path == "-" {
            descriptor = STDIN_FILENO
            size = nil
            return
        }
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, unsafe fstat(descriptor, &status) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            let advice = option.map { " Check --\($0.name)." } ?? ""
            throw Refusal("'\(path)' can't be opened: \(reason).\(advice)")
        }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    /// The text of a small file, such as one with a key or a token.
    static func text(
        _ path: String, of option: Syntax.Option, bytesMax: Int = 1 << 20
    ) throws -> String {
        let bytes = try bytes(path, of: option, bytesMax: bytesMax)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal("'\(path)' is no text. Check --\(option.name).")
        }
        return text
    }

    /// The bytes of a small file.
    static func bytes(
        _ path: String, of option: Syntax.Option, bytesMax: Int
    ) throws -> [UInt8] {
        let file = try InputFile(path, of: option)
        var bytes: [UInt8] = []
        while let part = try file.next() {
            bytes += part
            guard bytes.count <= bytesMax else {
                throw Refusal(
                    "'\(path)' has more than \(bytesMax.asBytes). Check --\(option.name).")
            }
        }
        return bytes
    }

    deinit { if descriptor > STDERR_FILENO { close(descriptor) } }

    /// The next part; nil at the end.
    func next() throws -> [UInt8]? {
        var part = [UInt8](repeating: 0, count: Self.partBytes)
        while true {
            let count = unsafe part.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Refusal(
                    unsafe "'\(path)' can't be read: \(String(cString: strerror(errno))).")
            }
            return count == 0 ? nil : Array(part[..<count])
        }
    }
}
