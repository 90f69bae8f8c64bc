import ChildProcess
import Foundation
import Synchronization
import Testing
import Waiting

/// A process of the helper, and what it prints.
final class Helper {
    /// It has ended by itself.
    struct Ended: Error {
        /// Its arguments, with the seed if it has one.
        let arguments: [String]
        let errors: [Substring]
        let state: String
    }

    private final class Output: Sendable {
        let state = Mutex((bytes: Data(), lines: 0, hasEnded: false))
    }

    private let process: ChildProcess
    private let arguments: [String]
    /// The file at which it closes its store.
    private let closing: String
    private let output = Output()

    /// Starts the helper on a store.
    ///
    /// - Parameters:
    ///   - writer: The first of its writers.
    ///   - mode: What it does, and how it shares the store.
    ///   - most: The most transactions that each writer makes, or items that are migrated. Then the process is
    ///     idle: what a test does is the same on a machine on which the test itself gets on slowly.
    ///   - seed: What the commits are drawn from, in the modes that draw them.
    init(
        _ path: String, firstWriter writer: Int = 0, mode: String = "shared", most: Int,
        seed: UInt64? = nil
    ) throws {
        var arguments = [path, "\(writer)", mode, "\(most)"]
        if let seed { arguments.append("\(seed)") }
        closing = "\(path)-close-\(writer)"
        // A power cut may have brought back the one of a process before.
        try? FileManager.default.removeItem(atPath: closing)
        let process = try ChildProcess(
            [ChildProcess.path(ofBuilt: "BackstitchKillHelper")] + arguments)
        self.process = process
        self.arguments = arguments
        let output = output
        Thread.detachNewThread {
            while case let more = process.output.availableData, !more.isEmpty {
                output.state.withLock { state in
                    state.bytes.append(more)
                    state.lines += more.count { $0 == 10 }
                }
            }
            output.state.withLock { $0.hasEnded = true }
        }
    }

    /// How many lines it printed.
    var lineCount: Int { output.state.withLock { $0.lines } }
    /// What is thrown when it has ended by itself.
    var ended: Ended { Ended(arguments: arguments, errors: errors, state: process.state) }
    /// Whether it printed all it will.
    var hasEnded: Bool { output.state.withLock { $0.hasEnded } }

    private var printed: [Substring] {
        let bytes = output.state.withLock { $0.bytes }
        let whole = bytes.prefix((bytes.lastIndex(of: 10) ?? -1) + 1)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n")
    }

    /// What it found wrong.
    private var errors: [Substring] { printed.filter { $0.hasPrefix("error") } }

    /// The writers and transactions that it has acknowledged until now.
    var acknowledged: [(writer: Int, transaction: Int)] {
        get throws {
            try printed.filter { !$0.hasPrefix("error") }.map { line in
                let parts = line.split(separator: " ").compactMap { Int($0) }
                return try (writer: #require(parts.first), transaction: #require(parts.last))
            }
        }
    }

    /// Waits until it printed so many lines.
    ///
    /// - Throws: If it ended before.
    func waitForLines(_ count: Int) async throws {
        try await eventually {
            if hasEnded, lineCount < count { throw ended }
            return lineCount >= count
        }
    }

    /// Waits until so many writers had a transaction acknowledged.
    ///
    /// - Throws: If it ended before.
    func waitForWriters(_ count: Int) async throws {
        try await eventually {
            if hasEnded { throw ended }
            return Set(try acknowledged.map(\.writer)).count >= count
        }
    }

    /// Kills it, unless it ended by itself, which is a failure.
    ///
    /// - Parameter microseconds: How long it may still run: a moment by chance.
    /// - Returns: The writers and transactions that it acknowledged.
    func kill(
        afterMicroseconds microseconds: UInt32 = 0
    ) throws -> [(writer: Int, transaction: Int)] {
        try end(process.kill(afterMicroseconds: microseconds), expecting: .signal(SIGKILL))
    }

    /// Has it close its store, whatever it does, and end.
    ///
    /// - Parameter microseconds: How long it may still run: a moment by chance.
    /// - Returns: The writers and transactions that it acknowledged.
    func close(
        afterMicroseconds microseconds: UInt32 = 0
    ) throws -> [(writer: Int, transaction: Int)] {
        usleep(microseconds)
        _ = FileManager.default.createFile(atPath: closing, contents: nil)
        defer { try? FileManager.default.removeItem(atPath: closing) }
        return try end(process.wait(), expecting: .exit(code: 0))
    }

    private func end(
        _ ending: ChildProcess.Ending, expecting expected: ChildProcess.Ending
    ) throws -> [(writer: Int, transaction: Int)] {
        blockUntil { hasEnded }
        #expect(errors == [], "\(arguments)")
        if ending != expected {
            let complaint = process.complaint.availableData
            let text = String(decoding: complaint, as: UTF8.self)
            Issue.record("\(arguments) ended by \(ending): \(text)")
        }
        return try acknowledged
    }
}
