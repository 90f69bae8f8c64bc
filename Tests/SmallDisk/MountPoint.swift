import Foundation
import Glibc

/// A folder of its own at which something is mounted, until the object is gone.
final class MountPoint {
    /// Where it is mounted.
    let path: String
    private let root: String

    /// - Parameters:
    ///   - name: What the folder's name begins with.
    ///   - mount: Mounts something at a path; what it needs besides may be in the folder.
    init(_ name: String, _ mount: (_ folder: String, _ path: String) throws -> Void) throws {
        root = FileManager.default.temporaryDirectory.path + "/\(name)-" + UUID().uuidString
        path = root + "/mounted"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        do {
            try mount(root, path)
        } catch {
            try? FileManager.default.removeItem(atPath: root)
            throw error
        }
    }

    deinit {
        // Nothing may be removed through the path. A file that is still open keeps the file system
        // until it is closed.
        if umount2(path, Int32(MNT_DETACH)) == 0 {
            try? FileManager.default.removeItem(atPath: root)
        }
    }
}
