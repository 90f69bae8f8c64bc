import Foundation
import Synchronization
import Testing

/// A process of the helper, and what it prints.
final class Helper {
    private final class Output: Sendable {
        let state = Mutex((bytes: Data(), hasEnded: false))
    }

    private let process = Process()
    private let output = Output()

    /// Starts the helper on a store.
    ///
    /// - Parameter firstWriter: Of a process that shares the store with others; nil for one alone.
    init(_ path: String, firstWriter: Int? = nil) throws {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent("BackstitchKillHelper")
        process.arguments = [path] + (firstWriter.map { ["\($0)", "shared"] } ?? [])
        let pipe = Pipe()
        process.standardOutput = pipe
        let output = output
        try process.run()
        Thread.detachNewThread {
            while case let more = pipe.fileHandleForReading.availableData, !more.isEmpty {
                output.state.withLock { $0.bytes.append(more) }
            }
            output.state.withLock { $0.hasEnded = true }
        }
    }

    /// How many lines it printed.
    var lineCount: Int { output.state.withLock { state in state.bytes.count { $0 == 10 } } }
    /// Whether it printed all it will.
    var hasEnded: Bool { output.state.withLock { $0.hasEnded } }

    /// Kills it, unless it ended by itself, which is a failure.
    ///
    /// - Returns: The writers and transactions that it acknowledged.
    func kill() throws -> [(Int, Int)] {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        while !hasEnded { usleep(200) }
        let bytes = output.state.withLock { $0.bytes }
        let whole = bytes.prefix((bytes.lastIndex(of: 10) ?? -1) + 1)
        let lines = String(decoding: whole, as: UTF8.self).split(separator: "\n")
        let errors = lines.filter { $0.hasPrefix("error") }.map(String.init)
        #expect(errors == [])
        #expect(process.terminationReason == .uncaughtSignal)
        return try lines.filter { !$0.hasPrefix("error") }.map { line in
            let parts = line.split(separator: " ").compactMap { Int($0) }
            return try (#require(parts.first), #require(parts.last))
        }
    }
}
