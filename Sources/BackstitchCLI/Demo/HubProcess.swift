import Foundation

/// A hub that this program started.
final class HubProcess: @unchecked Sendable {  // The process is used by one task at a time.
    /// Why a hub can't be started.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let document: HubDocument
    private let process: Process

    /// The number of the process.
    var id: Int32 { process.processIdentifier }

    /// Starts a hub with one user, which keeps its records in a folder.
    init(folder: String) throws {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "hub", "--dev", "--user", "demo", "--listen", "127.0.0.1:0", "--data", folder,
        ]
        process.standardOutput = output
        try process.run()
        self.process = process
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            line.append(part)
        }
        guard let document = try? JSON.value(HubDocument.self, Array(line)) else {
            process.terminate()
            throw Failure(description: "The hub can't be started. Its messages are above.")
        }
        self.document = document
    }

    /// Asks the hub to end, and waits until it did.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}
