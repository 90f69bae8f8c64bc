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

    package var path: String { point.path }
    private let point: MountPoint
    /// The file that an ext4 is in.
    private let image: String

    package convenience init(_ kind: Kind) throws {
        try self.init { image, path in
            switch kind {
            case .tmpfs(let size): try SmallDisk.mountMemory(size, at: path)
            case .ext4(let size): try SmallDisk.mountImage(size, image, at: path)
            }
        }
    }

    private init(_ mount: (_ image: String, _ path: String) throws -> Void) throws {
        var image = ""
        point = try MountPoint("disk") { root, path in
            image = root + "/image"
            try mount(image, path)
        }
        self.image = image
    }

    private static func mountMemory(_ mebibytes: Int, at path: String) throws {
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
            throw Failure(message: String(cString: strerror(errno)))
        }
    }

    private static func mountImage(_ mebibytes: Int, _ image: String, at path: String) throws {
        guard FileManager.default.createFile(atPath: image, contents: nil),
            truncate(image, mebibytes << 20) == 0
        else { throw Failure(message: String(cString: strerror(errno))) }
        // No blocks for root alone: the tests run as root.
        try run(["/usr/sbin/mkfs.ext4", "-q", "-F", "-m", "0", image])
        try attach(image, at: path)
    }

    private static func attach(_ image: String, at path: String) throws {
        try run(["/usr/bin/mount", "-o", "loop", image, path])
    }

    /// The file system as it would be found if the power went now: what its device has, without what the
    /// system still holds back. The copy is mounted, so that its journal was replayed. Of ext4 alone.
    package func afterPowerCut() throws -> SmallDisk {
        try SmallDisk { [image] copy, path in
            try FileManager.default.copyItem(atPath: image, toPath: copy)
            try SmallDisk.attach(copy, at: path)
        }
    }

    static func run(_ words: [String]) throws {
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

    /// Lets nobody write to it any more. No file may be open for writing.
    package func makeReadOnly() throws {
        try Self.run(["/usr/bin/mount", "-o", "remount,ro", path])
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
