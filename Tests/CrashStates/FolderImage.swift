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
}
