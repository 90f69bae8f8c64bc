import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import Terminal
import Waiting

@testable import BackstitchCLI

/// A hub in a process of its own, which can be killed and started again at the same port.
final class KillableHub {
    let document: HubDocument
    private let folder: String
    private var options: [String]
    private var child: ChildProcess

    /// - Parameter launcher: What runs the program, with the program and its arguments behind it.
    init(folder: String, options: [String] = [], launcher: [String] = []) throws {
        (self.folder, self.options) = (folder, options)
        child = try Runner.start(
            [
                "hub", "--dev", "--user", "Ada", "--user", "Bob", "--listen", "127.0.0.1:0",
                "--data",
                folder,
            ] + options, through: launcher)
        Self.drop(child.complaint)
        document = try JSON.value(HubDocument.self, Self.line(of: child.output))
    }

    /// Reads what a hub complains of, until it ends. Of many failures the pipe would be full, and the hub
    /// would wait for somebody to read it.
    private static func drop(_ complaint: FileHandle) {
        Thread.detachNewThread { while !complaint.availableData.isEmpty {} }
    }

    /// Reads the line that says that the hub listens.
    private static func line(of output: FileHandle) throws -> [UInt8] {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.availableData
            if part.isEmpty { break }
            line.append(part)
        }
        return Array(line)
    }

    /// Kills the process without a warning, and starts another one.
    ///
    /// - Parameter microseconds: How long it may still run: a moment by chance.
    func killAndRestart(
        afterMicroseconds microseconds: UInt32 = 0, through launcher: [String] = []
    ) throws {
        try child.kill(afterMicroseconds: microseconds)
        try restart(through: launcher)
    }

    /// Kills the process without a warning.
    func killForGood() throws { try child.kill() }

    /// Starts another process at the same port, after the one before has ended.
    ///
    /// - Parameters:
    ///   - options: What takes the place of the options before.
    ///   - launcher: As when it was started first.
    func restart(with options: [String]? = nil, through launcher: [String] = []) throws {
        self.options = options ?? self.options
        let options = self.options
        let address = String(document.url.dropFirst("http://".count))
        child = try Runner.start(
            ["hub", "--listen", address, "--data", folder] + options, through: launcher)
        Self.drop(child.complaint)
        _ = try Self.line(of: child.output)
    }

    /// Asks the hub to end, and answers its exit code.
    func stop() throws -> ChildProcess.Ending {
        child.send(SIGTERM)
        return try child.wait()
    }

    func service(user: Int = 0) throws -> CloudKitRecordService {
        guard let url = URL(string: document.url) else { throw URLError(.badURL) }
        var configuration = CloudKitConfiguration(
            url: url, container: document.container,
            credentials: .user(
                apiToken: document.apiToken,
                webAuthToken: WebAuthToken(document.users[user].webAuthToken)))
        // On a busy machine a reply takes as long as it takes.
        configuration.timeout = .seconds(3_600)
        return try CloudKitRecordService(configuration)
    }
}

extension CloudKitRecordService {
    /// Waits until a record is there.
    func waitForRecord(_ name: String, in zone: ZoneID) async throws {
        try await eventually {
            if case .found? = try await lookUpRecords([name], in: zone).first { return true }
            return false
        }
    }
}
