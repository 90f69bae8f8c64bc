import BackstitchCore
import BackstitchLog
import Foundation

/// The file that keeps what a repair could not use: a line of JSON for each operation.
final class SetAsideFile: Sendable {
    private struct Line: Encodable {
        let sequence: UInt64
        let kind: String
        let entity: String
        let record: String
        let reason: String
        /// The stored operation, as FORMAT.md has it, in Base64.
        let bytes: Data
    }

    private let handle: FileHandle
    private let path: String

    /// Makes the file.
    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw StoreError(.inaccessible, "'\(path)' can't be written. Check the folder.") }
        self.handle = handle
        self.path = path
    }

    func add(_ sequence: UInt64, _ bytes: UnsafeRawBufferPointer, _ reason: String) throws {
        let operation = try unsafe OperationView(bytes, sequence: sequence)
        let line = Line(
            sequence: sequence, kind: "\(operation.kind)", entity: "\(operation.entity.rawValue)",
            record: try operation.key.description, reason: reason, bytes: unsafe Data(bytes))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = try encoder.encode(line) + Data("\n".utf8)
        try StoreError.writing(path) { try handle.write(contentsOf: text) }
    }

    /// Puts the file on disk.
    func close() throws {
        try StoreError.writing(path) {
            try handle.synchronize()
            try handle.close()
        }
    }
}

extension StoreError {
    /// Runs a closure that writes a file with Foundation, and throws its failures as `full` or `io`.
    static func writing(_ path: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
            throw StoreError(
                isFull ? .full : .io,
                "'\(path)' can't be written. \(isFull ? "Make room on" : "Check") the disk, and try "
                    + "again.")
        }
    }
}
