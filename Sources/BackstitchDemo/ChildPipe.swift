import Foundation
import Threading

/// This program once more, with a pipe to it and a pipe back.
final class ChildPipe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer = Data()

    /// The number of the process.
    var id: Int32 { process.processIdentifier }

    /// - Parameter variables: What its environment has beside this process's.
    init(_ arguments: [String], variables: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func write(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that it writes, without its end; nil once it writes no more.
    func readLine() async -> [UInt8]? {
        let handle = output.fileHandleForReading
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<end])
                buffer = Data(buffer[(end + 1)...])
                return line
            }
            let part = await withCheckedContinuation { continuation in
                SystemThread.detach {
                    continuation.resume(returning: handle.availableData)
                }
            }
            if part.isEmpty { return nil }
            buffer.append(part)
        }
    }

    func closeInput() { try? input.fileHandleForWriting.close() }

    /// Asks it to end with a signal.
    func terminate() {
        if process.isRunning { process.terminate() }
    }

    /// Waits until it ended.
    ///
    /// - Returns: The signal that ended it; 0 for none.
    @discardableResult
    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : 0
    }
}
