import ChildProcess
import Foundation

/// Runs the built program as a child process.
struct Runner {
    struct Result {
        /// The exit code; after a crash the signal, negative.
        let code: Int32
        let output: String
        let complaint: String
    }

    /// Starts the program.
    static func start(
        _ arguments: [String], through launcher: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(launcher + [ChildProcess.path(ofBuilt: "backstitch")] + arguments)
    }

    /// Runs the program to its end.
    static func run(_ arguments: [String], through launcher: [String] = []) throws -> Result {
        let child = try start(arguments, through: launcher)
        // What is complained fits into the pipe; only the output may be long.
        let text = child.output.readDataToEndOfFile()
        let complaints = child.complaint.readDataToEndOfFile()
        let code: Int32 =
            switch try child.wait() {
            case .exit(let code): code
            case .signal(let number): -number
            }
        return Result(
            code: code, output: String(decoding: text, as: UTF8.self),
            complaint: String(decoding: complaints, as: UTF8.self))
    }

    static func run(_ arguments: String...) throws -> Result { try run(arguments) }
}
