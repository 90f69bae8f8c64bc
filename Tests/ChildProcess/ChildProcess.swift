package import Foundation
import Glibc
import Synchronization

/// A program that runs beside the tests.
///
/// Tests have many hundred files open, and `Foundation.Process` of Swift 6.3 reads behind the end of
/// the list of them when it is long: it copies 256 bytes of each entry's name. So it is not used.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Ending: Equatable, Sendable {
        case exit(code: Int32)
        case signal(Int32)
    }

    package let identifier: pid_t
    /// What it prints.
    package let output: FileHandle
    /// What it prints to the standard error.
    package let complaint: FileHandle

    /// How it ended; nil until somebody waited for it. From then on its number may be another process's.
    private let ending = Mutex<Ending?>(nil)

    /// Held from the making of pipes to the start of the child, so that no other child inherits them
    /// in between and keeps them open.
    private static let starting = Mutex(())

    /// Starts a program.
    ///
    /// - Parameter words: The path of the program, and its arguments.
    package init(_ words: [String]) throws {
        (identifier, output, complaint) = try Self.starting.withLock { _ in
            try Self.start(words)
        }
    }

    private static func start(
        _ words: [String]
    ) throws -> (identifier: pid_t, output: FileHandle, complaint: FileHandle) {
        let (output, complaint) = (try Self.pipe(), try Self.pipe())
        defer { for end in [output.writing, complaint.writing] { close(end) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, complaint.writing, STDERR_FILENO)
        // Threads of Dispatch block signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var identifier = pid_t()
        let code = posix_spawn(
            &identifier, words[0], &actions, &attributes, &arguments, environ)
        guard code == 0 else {
            for end in [output.reading, complaint.reading] { close(end) }
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL)
        }
        return (
            identifier, FileHandle(fileDescriptor: output.reading, closeOnDealloc: true),
            FileHandle(fileDescriptor: complaint.reading, closeOnDealloc: true)
        )
    }

    /// The path of a program that is built beside the tests.
    package static func path(ofBuilt name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    /// Sends it a signal, unless it was waited for: who has its number then is no business of ours.
    package func send(_ signal: Int32) {
        ending.withLock { if $0 == nil { kill(identifier, signal) } }
    }

    /// Waits for its end.
    @discardableResult package func wait() throws -> Ending {
        // It stays to be waited for, so that a signal can be sent meanwhile.
        var info = siginfo_t()
        while waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return try ending.withLock { ending in
            if let ending { return ending }
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) < 0 {
                guard errno == EINTR else {
                    throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECHILD)
                }
            }
            let signal = status & 0x7F
            let known: Ending = signal == 0 ? .exit(code: (status >> 8) & 0xFF) : .signal(signal)
            ending = known
            return known
        }
    }

    /// Whether it runs, for a test that tells why it failed.
    package var state: String {
        ending.withLock { ending in
            if let ending { return "it has ended, \(ending)" }
            var info = siginfo_t()
            let result = waitid(P_PID, id_t(identifier), &info, WEXITED | WNOHANG | WNOWAIT)
            return result == 0 && info.si_signo == SIGCHLD ? "it has ended" : "it runs"
        }
    }

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
