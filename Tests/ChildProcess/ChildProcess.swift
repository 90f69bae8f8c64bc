package import Foundation
import Glibc
import Synchronization
import Terminal
import Threading

/// A program that runs beside the tests.
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
        WorkMeter.current?.add()
        (identifier, output, complaint) = try Self.starting.withLock { _ in
            try Self.start(words)
        }
    }

    private static func start(
        _ words: [String]
    ) throws -> (identifier: pid_t, output: FileHandle, complaint: FileHandle) {
        let (output, complaint) = (try Self.pipe(), try Self.pipe())
        defer { for end in [output.writing, complaint.writing] { close(end) } }
        do {
            let identifier = try ChildProgram.start(
                words, output: output.writing, complaint: complaint.writing)
            return (
                identifier, FileHandle(fileDescriptor: output.reading, closeOnDealloc: true),
                FileHandle(fileDescriptor: complaint.reading, closeOnDealloc: true)
            )
        } catch {
            for end in [output.reading, complaint.reading] { close(end) }
            throw error
        }
    }

    /// The path of a program that is built beside the tests.
    package static func path(ofBuilt name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    /// Sends it a signal, unless it was waited for: who has its number then is no business of ours.
    package func send(_ signal: Int32) {
        ending.withLock { if $0 == nil { _ = Glibc.kill(identifier, signal) } }
    }

    /// Kills it and waits for its end.
    ///
    /// - Parameter microseconds: How long it may still run: a moment that a test takes by chance, so that kills
    ///   come at different points. No verdict depends on it.
    @discardableResult
    package func kill(afterMicroseconds microseconds: UInt32 = 0) throws -> Ending {
        usleep(microseconds)
        send(SIGKILL)
        return try wait()
    }

    /// Waits until it was stopped by a signal, or has ended.
    package func waitForStop() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(identifier), &info, WSTOPPED | WEXITED | WNOWAIT) < 0,
            errno == EINTR
        {}
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

    /// Whether it has ended; what it printed may still be unread.
    package var hasEnded: Bool {
        if ending.withLock({ $0 != nil }) { return true }
        var info = siginfo_t()
        let result = waitid(P_PID, id_t(identifier), &info, WEXITED | WNOHANG | WNOWAIT)
        return result != 0 || info.si_signo == SIGCHLD
    }

    /// Whether it runs, for a test that tells why it failed; how it ended if it does not, and what it said then.
    package var state: String {
        if !hasEnded { return "it runs" }
        guard let ending = try? wait() else { return "nobody knows" }
        let words = String(decoding: complaint.readDataToEndOfFile(), as: UTF8.self)
        return "it has ended, \(ending): \(words)"
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
