import BackstitchStudio
import Foundation
import Glibc
import Terminal
import Threading

/// Long work that Studio's page starts, one at a time: commands of this program in a process of their
/// own, so that they can be stopped, and a damaged store ends only them.
final class StudioJobs: Sendable {
    /// The commands that may be started.
    private static let kinds: Set = ["verify", "doctor", "assets", "compact", "backup"]
    /// Those of them that change something.
    static let writing: Set = ["compact", "backup"]
    /// The most bytes of a process's output that are read.
    private static let outputBytesMax = 1 << 20

    private struct Status: Encodable {
        let kind: String?
        let running: Bool
        let progress: String?
        let exitCode: Int32?
        let stopped: Bool
        /// The JSON that the command wrote, as text.
        let result: String?
        let complaint: String?
    }

    /// One run of a command. One thread at a time uses it.
    private final class Run {
        let kind: String
        let output: FileHandle
        let complaint: FileHandle
        var isStopped = false
        private let process: pid_t
        /// How it ended, as `waitpid(2)` tells; nil while it runs.
        private var ending: Int32?

        init(_ kind: String, _ words: [String]) throws {
            self.kind = kind
            output = try Self.file()
            complaint = try Self.file()
            let variables = ProcessInfo.processInfo.environment.merging(
                [Console.progressVariable: "always"]
            ) { $1 }
            process = try ChildProgram.start(
                [ChildProgram.own] + words, environment: variables.map { "\($0)=\($1)" },
                output: output.fileDescriptor, complaint: complaint.fileDescriptor)
        }

        /// Its exit code, or the number of the signal that ended it; nil while it runs.
        var exitCode: Int32? {
            var status: Int32 = 0
            if ending == nil, unsafe waitpid(process, &status, WNOHANG) == process {
                ending = status
            }
            return ending.map { $0 & 0x7F == 0 ? $0 >> 8 & 0xFF : $0 & 0x7F }
        }

        /// Asks it to end, if it runs.
        func stop() {
            guard exitCode == nil else { return }
            isStopped = true
            kill(process, SIGTERM)
        }

        /// A file without a name, which is gone when it is closed.
        private static func file() throws -> FileHandle {
            let folder = FileManager.default.temporaryDirectory.path
            var name = Array("\(folder)/backstitch-studio-XXXXXX".utf8CString)
            let descriptor = unsafe mkstemp(&name)
            guard descriptor >= 0 else {
                throw Refusal(
                    unsafe "There is no room for the output: \(String(cString: strerror(errno))).")
            }
            unsafe unlink(name)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }

        /// What is in a file. It is opened anew, because the process writes at the handle's place.
        static func text(_ handle: FileHandle) -> String {
            let path = "/proc/self/fd/\(handle.fileDescriptor)"
            let content = FileManager.default.contents(atPath: path) ?? Data()
            return String(decoding: content.suffix(outputBytesMax), as: UTF8.self)
        }
    }

    /// The last run, if there was one.
    private struct State {
        var run: Run?
    }

    private let path: String
    private let state = Locked(State())

    init(path: String) { self.path = path }

    /// Starts a command; see ``status()`` for what becomes of it.
    ///
    /// - Throws: ``StudioError`` if one runs already, or for a command that is not among them.
    func start(_ kind: String, target: String?) throws -> String {
        guard Self.kinds.contains(kind) else {
            throw StudioError(400, "There is no work '\(kind.printable)'.")
        }
        // Files that differ stay where they are: what only looks moves nothing.
        let options = kind == "assets" ? ["--verify", "--keep-corrupt"] : []
        var words = [kind, "--json"] + options + ["--", path]
        if kind == "backup" {
            guard let target else { throw StudioError(400, "Say where the copy goes.") }
            words.append(target)
        }
        try state.withLock { state in
            guard state.run.map({ $0.exitCode != nil }) ?? true else {
                throw StudioError(409, "Something runs already. Wait for it, or stop it.")
            }
            state.run = try Run(kind, words)
        }
        return try status()
    }

    /// Ends what runs, if something does.
    func stop() {
        state.withLock { $0.run?.stop() }
    }

    /// What runs or ran last, as JSON.
    func status() throws -> String {
        let status = state.withLock { state -> Status in
            guard let run = state.run else {
                return Status(
                    kind: nil, running: false, progress: nil, exitCode: nil, stopped: false,
                    result: nil, complaint: nil)
            }
            let exitCode = run.exitCode
            let isRunning = exitCode == nil
            let said = Run.text(run.complaint)
            return Status(
                kind: run.kind, running: isRunning, progress: isRunning ? Self.progress(said) : nil,
                exitCode: exitCode, stopped: run.isStopped,
                result: isRunning ? nil : Run.text(run.output),
                complaint: isRunning ? nil : Self.words(said))
        }
        return try JSON.line(status)
    }

    /// The last state of a bar that was drawn over and over; nil if none was.
    static func progress(_ text: String) -> String? {
        guard let last = text.split(separator: "\r").last else { return nil }
        let line = String(last).replacing("\u{1B}[K", with: "")
        return line.isEmpty ? nil : line
    }

    /// What is said beside the bar.
    static func words(_ text: String) -> String {
        text.split(separator: "\n").compactMap { progress(String($0)) }.joined(separator: "\n")
    }
}
