import BackstitchSimulation
import BackstitchTesting
import Glibc
import Terminal
import Threading

/// The file that seeds are written to as soon as they fail, so that none is lost with the program or
/// with what reads its output.
final class FailureFile: Sendable {
    /// Its path unless another one is given, in the working folder.
    static let defaultPath = "backstitch-simulate-failures.txt"

    let path: String
    private let console: Console
    private let hasFailed = Locked(false)
    /// The file that was asked for, open from the start: what fails may be for lack of descriptors.
    private let kept: Int32?
    /// Whether the file was not there before; then it goes again if nothing fails.
    private let isNew: Bool

    /// A file at a path, which stays once something failed.
    ///
    /// - Throws: ``Refusal`` if a file that was asked for can't be written.
    init(_ path: String?, _ console: Console) throws {
        self.path = path ?? Self.defaultPath
        self.console = console
        guard path != nil else {
            (kept, isNew) = (nil, false)
            return
        }
        let new = Self.open(self.path, O_EXCL)
        let descriptor = new >= 0 ? new : Self.open(self.path)
        guard descriptor >= 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw Refusal("'\(self.path.printable)' can't be written: \(reason).")
        }
        (kept, isNew) = (descriptor, new >= 0)
    }

    deinit {
        guard let kept else { return }
        var status = stat()
        if isNew, unsafe fstat(kept, &status) == 0, status.st_size == 0 { unsafe unlink(path) }
        close(kept)
    }

    private static func open(_ path: String, _ flags: Int32 = 0) -> Int32 {
        unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0o644)
    }

    /// Adds a failure at the end of the file. If that fails it is told once, and the run goes on.
    func add(_ failure: SimulationFailure, replay: String) {
        let text = "\(failure)\n  run it again: \(replay)\n\n"
        guard let reason = append(text) else { return }
        let isFirst = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        if isFirst {
            console.complain("The failures can't be kept in '\(path.printable)': \(reason).")
        }
    }

    /// Adds text to the file and puts it on disk.
    ///
    /// - Returns: why that was not done; nil if it was.
    private func append(_ text: String) -> String? {
        let descriptor = kept ?? Self.open(path)
        guard descriptor >= 0 else { return unsafe String(cString: strerror(errno)) }
        defer { if kept == nil { close(descriptor) } }
        let output = Output(descriptor: descriptor)
        output.write(text)
        output.flush()
        if let failure = output.failure { return failure }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            return unsafe String(cString: strerror(errno))
        }
        return nil
    }
}
