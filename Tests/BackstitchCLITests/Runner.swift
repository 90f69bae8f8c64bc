import Foundation
import Glibc

/// Runs the built program as a child process.
struct Runner {
    struct Result {
        /// The exit code; after a crash the signal, negative.
        let code: Int32
        let output: String
        let complaint: String
    }

    /// The program, which is built beside the tests.
    static var executable: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: tests).deletingLastPathComponent()
                .appendingPathComponent("backstitch").path
        }
    }

    /// Starts the program.
    static func start(
        _ arguments: [String], through launcher: [String] = []
    ) throws -> (process: Process, output: Pipe, complaint: Pipe) {
        let process = Process()
        let words = try launcher + [executable] + arguments
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        let output = Pipe()
        let complaint = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = complaint
        try process.run()
        return (process, output, complaint)
    }

    /// Runs the program to its end.
    static func run(_ arguments: [String], through launcher: [String] = []) throws -> Result {
        let (process, output, complaint) = try start(arguments, through: launcher)
        // What is complained fits into the pipe; only the output may be long.
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let complaints = complaint.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let isCrash = process.terminationReason != .exit
        return Result(
            code: isCrash ? -process.terminationStatus : process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            complaint: String(decoding: complaints, as: UTF8.self))
    }

    static func run(_ arguments: String...) throws -> Result { try run(arguments) }
}
