import ChildProcess
import Foundation
import Synchronization
import Testing

/// A process of the helper, and what it prints.
final class Helper {
    private final class Output: Sendable {
        let state = Mutex((bytes: Data(), hasEnded: false))
    }

    private let process: ChildProcess
    private let output = Output()

    /// Starts the helper on a store.
    ///
    /// - Parameters:
    ///   - firstWriter: Of a process that shares the store with others; nil for one alone.
    ///   - mode: How it shares the store.
    init(_ path: String, firstWriter: Int? = nil, mode: String = "shared") throws {
        let process = try ChildProcess(
            [ChildProcess.path(ofBuilt: "BackstitchKillHelper"), path]
                + (firstWriter.map { ["\($0)", mode] } ?? []))
        self.process = process
        let output = output
        Thread.detachNewThread {
            while case let more = process.output.availableData, !more.isEmpty {
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
        process.send(SIGKILL)
        let ending = try process.wait()
        while !hasEnded { usleep(200) }
        let bytes = output.state.withLock { $0.bytes }
        let whole = bytes.prefix((bytes.lastIndex(of: 10) ?? -1) + 1)
        let lines = String(decoding: whole, as: UTF8.self).split(separator: "\n")
        let errors = lines.filter { $0.hasPrefix("error") }.map(String.init)
        #expect(errors == [])
        if ending != .signal(SIGKILL) {
            let complaint = process.complaint.availableData
            Issue.record("It ended by \(ending): \(String(decoding: complaint, as: UTF8.self))")
        }
        return try lines.filter { !$0.hasPrefix("error") }.map { line in
            let parts = line.split(separator: " ").compactMap { Int($0) }
            return try (#require(parts.first), #require(parts.last))
        }
    }
}
