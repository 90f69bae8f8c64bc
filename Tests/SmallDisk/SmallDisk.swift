import ChildProcess
import Foundation
import Glibc

/// A file system of a few megabytes that can be filled, mounted for one test.
///
/// Only root may mount one. Where that is not possible, tests say so and count as skipped.
package final class SmallDisk {
    /// What kind of file system, and how large.
    package enum Kind: Hashable, CustomStringConvertible, Sendable {
        case tmpfs(mebibytes: Int)
        case ext4(mebibytes: Int)

        package var description: String {
            switch self {
            case .tmpfs(let size): "tmpfs of \(size) MiB"
            case .ext4(let size): "ext4 of \(size) MiB"
            }
        }
    }

    package struct Failure: Error {
        let message: String
    }

    /// What the tests run on: those that this machine lets us mount.
    package static let kinds: [Kind] = {
        let wanted: [Kind] = [
            .tmpfs(mebibytes: 16), .ext4(mebibytes: 18), .ext4(mebibytes: 24),
            .ext4(mebibytes: 33),
        ]
        return wanted.filter { kind in
            do {
                _ = try SmallDisk(kind)
                return true
            } catch {
                complain("SKIPPED on a \(kind), which can't be mounted here: \(error)\n")
                return false
            }
        }
    }()

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }

    package let path: String
    private let root: String

    package init(_ kind: Kind) throws {
        root = FileManager.default.temporaryDirectory.path + "/disk-" + UUID().uuidString
        path = root + "/mounted"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        do {
            switch kind {
            case .tmpfs(let size): try mountMemory(size)
            case .ext4(let size): try mountImage(size)
            }
        } catch {
            try? FileManager.default.removeItem(atPath: root)
            throw error
        }
    }

    deinit {
        // A file that is still open keeps the file system until it is closed.
        if umount2(path, Int32(MNT_DETACH)) == 0 {
            try? FileManager.default.removeItem(atPath: root)
        }
    }

    private func mountMemory(_ mebibytes: Int) throws {
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
            throw Failure(message: String(cString: strerror(errno)))
        }
    }

    private var image: String { root + "/image" }

    private func mountImage(_ mebibytes: Int) throws {
        guard FileManager.default.createFile(atPath: image, contents: nil),
            truncate(image, mebibytes << 20) == 0
        else { throw Failure(message: String(cString: strerror(errno))) }
        // No blocks for root alone: the tests run as root.
        try Self.run(["/usr/sbin/mkfs.ext4", "-q", "-F", "-m", "0", image])
        try attachImage()
    }

    private func attachImage() throws {
        try Self.run(["/usr/bin/mount", "-o", "loop", image, path])
    }

    /// The file system as it would be found if the power went now: what its device has, without what the
    /// system still holds back. The copy is mounted, so that its journal was replayed. Of ext4 alone.
    package func afterPowerCut() throws -> SmallDisk { try SmallDisk(copying: image) }

    private init(copying other: String) throws {
        root = FileManager.default.temporaryDirectory.path + "/disk-" + UUID().uuidString
        path = root + "/mounted"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        do {
            try FileManager.default.copyItem(atPath: other, toPath: image)
            try attachImage()
        } catch {
            try? FileManager.default.removeItem(atPath: root)
            throw error
        }
    }

    private static func run(_ words: [String]) throws {
        let process: ChildProcess
        do {
            process = try ChildProcess(words)
        } catch {
            throw Failure(message: "\(words[0]) can't be run: \(error)")
        }
        let complaint = process.complaint.readDataToEndOfFile()
        guard try process.wait() == .exit(code: 0) else {
            throw Failure(message: String(decoding: complaint, as: UTF8.self))
        }
    }

    // MARK: Filling

    private var ballast: String { path + "/ballast" }

    /// Takes so many bytes away, or as many as there are.
    package func take(_ bytes: Int = .max) throws {
        let descriptor = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(message: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        var taken = 0
        while taken < bytes {
            let count = write(descriptor, block, min(block.count, bytes - taken))
            if count <= 0 { return }
            taken += count
        }
    }

    /// Gives what was taken back, but for so many bytes.
    package func give(allBut bytes: Int = 0) {
        truncate(ballast, bytes)
    }

    /// The bytes that were taken away.
    package var taken: Int {
        get throws {
            try FileManager.default.attributesOfItem(atPath: ballast)[.size] as? Int ?? 0
        }
    }
}
