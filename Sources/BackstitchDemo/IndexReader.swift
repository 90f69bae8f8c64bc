import Foundation
import Glibc
import Terminal

/// Reads a package index, from a file or from what `apt-cache dumpavail` prints.
struct IndexReader {
    /// The most malformed stanzas that are reported one by one.
    static let reportsMax = 20
    private static let chunkBytes = 1 << 18

    private(set) var index = PackageIndex()
    private(set) var stanzas = 0
    private(set) var malformed = 0
    private(set) var bytes = 0
    private let report: (Deb822Problem) -> Void

    /// - Parameter report: Is told of stanzas that are left out.
    init(report: @escaping (Deb822Problem) -> Void) {
        self.report = report
    }

    /// Reads a file.
    mutating func read(
        file path: String, progress: (_ done: Int, _ total: Int) -> Void
    ) throws {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure(path, errno) }
        let total = Int(status.st_size)
        try read(descriptor, path) { progress($0, total) }
    }

    /// Reads what `apt-cache dumpavail` prints; nothing if there is no such program.
    mutating func readMachine(progress: (_ done: Int, _ total: Int) -> Void) throws {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        let program = path.split(separator: ":").lazy.map { $0 + "/apt-cache" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let program else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["dumpavail"]
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return }
        defer {
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
        }
        try read(pipe.fileHandleForReading.fileDescriptor, "apt-cache") { progress($0, 0) }
    }

    private mutating func read(
        _ descriptor: Int32, _ name: String, progress: (Int) -> Void
    ) throws {
        var parser = Deb822Parser(fields: PackageIndex.fields)
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(name, errno) }
            if count == 0 { break }
            bytes += count
            unsafe chunk.withUnsafeBytes { chunk in
                unsafe parser.add(UnsafeRawBufferPointer(rebasing: chunk[..<count])) { take($0) }
            }
            progress(bytes)
        }
        parser.finish { take($0) }
    }

    private mutating func take(_ item: Deb822Parser.Item) {
        switch item {
        case .stanza(let stanza):
            stanzas += 1
            if let reason = index.add(stanza) {
                note(Deb822Problem(line: stanza.line, reason: reason))
            }
        case .malformed(let problem):
            stanzas += 1
            note(problem)
        }
    }

    private mutating func note(_ problem: Deb822Problem) {
        malformed += 1
        if malformed <= Self.reportsMax { report(problem) }
    }

    private static func failure(_ name: String, _ code: Int32) -> DemoFailure {
        DemoFailure(unsafe "\(name.printable) can't be read: \(String(cString: strerror(code))).")
    }
}
