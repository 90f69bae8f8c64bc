import Foundation

/// The files of a folder as bytes.
package struct FolderImage: Sendable {
    package var files: [String: [UInt8]]

    /// Reads the files of a folder that are there.
    package init(of folder: String, names: [String]) {
        files = [:]
        for name in names {
            if let data = FileManager.default.contents(atPath: folder + "/" + name) {
                files[name] = [UInt8](data)
            }
        }
    }

    /// Makes a folder with the files.
    package func write(to folder: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        for (name, bytes) in files {
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
    }

    /// The files of a process that was killed, perhaps in a commit, by a journal that says so: what
    /// processes tell each other there is written through a map, and that is not recorded.
    package var diedInCommit: FolderImage {
        var image = self
        // Where the journal has its messages, and there that a commit is under way (FORMAT.md).
        if let count = image.files["journal"]?.count, count >= 8_192 {
            image.files["journal"]?[4_096 + 40] = 1
        }
        return image
    }
}
