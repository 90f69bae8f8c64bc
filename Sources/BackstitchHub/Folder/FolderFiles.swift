package import BackstitchHubCore
import Foundation
import Glibc
import Threading
import WireCrypto

/// The files of a hub in a folder of its own.
package final class FolderFiles: HubFiles {
    /// The fewest bytes that have to be free on the disk.
    static let freeBytesMin: UInt64 = 1 << 20

    /// The folder.
    let folder: String
    /// The hub's folder, which one process serves; nil for a hub whose records are in memory.
    private let home: String?
    private let serving = Locked<ServingLock?>(nil)

    package init(folder: String, of home: String? = nil) throws(HubFailure) {
        (self.folder, self.home) = (folder, home)
        for path in [folder, folder + "/incoming"] {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw HubFailure(
                    "The folder '\(path)' can't be made: \(String(cString: strerror(errno))).")
            }
        }
    }

    package func beginServing() throws {
        guard let home else { return }
        try serving.withLock { lock in
            guard lock == nil else { return }
            lock = try ServingLock(directory: home)
            removeCutUploads()
        }
    }

    package func endServing() { serving.withLock { $0 = nil } }

    package var space: FileSpace {
        var info = statvfs()
        guard statvfs(folder, &info) == 0 else { return .away }
        return UInt64(info.f_bavail) * UInt64(info.f_frsize) >= Self.freeBytesMin ? .left : .full
    }

    package func path(_ checksum: String) -> String? {
        let digits = checksum.utf8
        guard digits.count == Digest.byteCount * 2,
            digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return folder + "/" + checksum
    }

    package func holds(_ checksum: String) -> Bool {
        path(checksum).map { access($0, R_OK) == 0 } ?? false
    }

    package func incomingPath(_ name: [UInt8]) -> String {
        folder + "/incoming/" + name.hexadecimal
    }

    package func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    package func discard(_ path: String) { unlink(path) }

    /// Removes what unfinished uploads left. No upload may be under way.
    private func removeCutUploads() {
        let incoming = folder + "/incoming"
        guard let entries = opendir(incoming) else { return }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { unlink(incoming + "/" + name) }
        }
    }

    package func byteCount(_ checksum: String) -> Int? {
        var status = stat()
        guard let path = path(checksum), stat(path, &status) == 0 else { return nil }
        return Int(status.st_size)
    }

    package func keep(_ path: String, checksum: String) throws {
        guard let target = self.path(checksum) else {
            throw HubFailure("'\(checksum)' is no checksum.")
        }
        guard Self.sync(path), rename(path, target) == 0, Self.sync(folder) else {
            let reason = String(cString: strerror(errno))
            unlink(path)
            throw HubFailure("An upload can't be kept: \(reason). Check the disk.")
        }
    }

    package func remove(_ checksum: String) -> Bool {
        guard let path = path(checksum) else { return true }
        return unlink(path) == 0 || errno == ENOENT
    }

    private static func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return fsync(descriptor) == 0
    }
}
