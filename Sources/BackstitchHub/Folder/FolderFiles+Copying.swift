import BackstitchHubCore
import Foundation
import Glibc
import WireCrypto

extension FolderFiles {
    /// The files that are there, uploads left out.
    var all: [HubFile] {
        Self.names(in: folder).sorted().compactMap { Partition(text: $0) }.flatMap { partition in
            Self.names(in: folder + "/" + partition.text).sorted()
                .compactMap { HubFile(partition, $0) }
        }
    }

    /// What became of a file that was to be copied.
    enum Taking {
        case taken
        case missing
        /// Its content is not what its checksum says. There is no copy.
        case damaged
    }

    /// Copies a file from elsewhere, by its checksum; it is on disk when this returns, and no object.
    func take(_ file: HubFile, from other: any HubFiles) throws -> Taking {
        let draft = incomingPath(Array(file.text.utf8))
        unlink(draft)
        do {
            if file.object == nil {
                try FileManager.default.copyItem(atPath: other.path(file), toPath: draft)
            } else {
                try fetch(file, from: other, to: draft)
            }
        } catch {
            unlink(draft)
            guard try other.holds(file) else { return .missing }
            throw HubError(
                .inaccessible,
                "The file '\(file.text)' can't be copied. Check the space on the disk. "
                    + error.localizedDescription)
        }
        guard try Self.checksum(at: draft) == file.checksum else {
            unlink(draft)
            return .damaged
        }
        var copy = file
        copy.object = nil
        try keep(draft, as: copy)
        return .taken
    }

    /// Fetches a file piece by piece.
    private func fetch(_ file: HubFile, from other: any HubFiles, to path: String) throws {
        guard
            FileManager.default.createFile(
                atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw FolderCopy.failure("A file can't be made") }
        defer { try? handle.close() }
        var offset = 0
        while true {
            let piece = try other.read(file, offset..<offset + (4 << 20))
            guard !piece.isEmpty else { return }
            try handle.write(contentsOf: piece)
            offset += piece.count
        }
    }

    static func damaged(_ file: HubFile) -> String {
        "The file '\(file.text)' is not what was uploaded: its content does not have its checksum. "
            + "Restore it from a backup."
    }

    private static func checksum(at path: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw FolderCopy.failure("A file can't be read")
        }
        defer { try? file.close() }
        let digest = RunningDigest()
        while let part = try file.read(upToCount: 1 << 20), !part.isEmpty {
            part.withUnsafeBytes { digest.update($0) }
        }
        return digest.value.hexadecimal
    }
}
