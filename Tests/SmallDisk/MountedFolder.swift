import Foundation

/// A folder that is seen at a second path, for one test.
///
/// Only root may mount one. Where that is not possible, tests say so and count as skipped.
package final class MountedFolder {
    /// How it is seen there.
    package enum Kind: CaseIterable, Sendable {
        /// Nothing can be written through the path, as in a container with a volume that is read-only.
        case readOnly
        /// What is written through the path goes elsewhere, as in a container without a volume.
        case overlay
    }

    /// The kinds that this machine lets us mount.
    package static let kinds: [Kind] = {
        let folder = FileManager.default.temporaryDirectory.path + "/mounted-" + UUID().uuidString
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return Kind.allCases.filter { (try? MountedFolder(folder, $0)) != nil }
    }()

    package var path: String { point.path }
    private let point: MountPoint

    package init(_ folder: String, _ kind: Kind) throws {
        point = try MountPoint("mounted") { root, path in
            switch kind {
            case .readOnly:
                try SmallDisk.run(["/usr/bin/mount", "--bind", "-o", "ro", folder, path])
            case .overlay:
                let (upper, work) = (root + "/upper", root + "/work")
                for name in [upper, work] {
                    try FileManager.default.createDirectory(
                        atPath: name, withIntermediateDirectories: true)
                }
                let layers = "lowerdir=\(folder),upperdir=\(upper),workdir=\(work)"
                try SmallDisk.run(
                    ["/usr/bin/mount", "-t", "overlay", "overlay", "-o", layers, path])
            }
        }
    }
}
