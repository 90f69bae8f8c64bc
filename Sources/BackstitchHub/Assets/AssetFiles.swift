import Glibc
import WireCrypto

/// The files of assets: one for each content, named by its SHA-256, in a folder of the hub's own.
///
/// Names come from the hub alone, so that no request can name another file.
struct AssetFiles: Sendable {
    /// The folder.
    let folder: String

    init(folder: String) throws(HubFailure) {
        self.folder = folder
        for path in [folder, folder + "/incoming"] {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw HubFailure(
                    "The folder '\(path)' can't be made: \(String(cString: strerror(errno))).")
            }
        }
    }

    /// The path of a content.
    ///
    /// - Parameter checksum: Hexadecimal digits; nil is returned for anything else.
    func path(_ checksum: String) -> String? {
        let digits = checksum.utf8
        guard digits.count == Digest.byteCount * 2,
            digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return folder + "/" + checksum
    }

    /// Whether a content is there.
    func holds(_ checksum: String) -> Bool { path(checksum).map { access($0, R_OK) == 0 } ?? false }

    /// The path of a file for an upload that begins.
    func incomingPath(_ name: [UInt8]) -> String { folder + "/incoming/" + name.hexadecimal }

    /// Removes what unfinished uploads left. No upload may be under way.
    func removeCutUploads() {
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

    /// The size of a content in bytes; nil where it is not there.
    func byteCount(_ checksum: String) -> Int? {
        var status = stat()
        guard let path = path(checksum), stat(path, &status) == 0 else { return nil }
        return Int(status.st_size)
    }

    /// Keeps what was uploaded, so that it survives a power cut.
    func keep(_ path: String, checksum: String) throws(HubFailure) {
        guard let target = self.path(checksum) else {
            throw HubFailure("'\(checksum)' is no checksum.")
        }
        guard Self.sync(path), rename(path, target) == 0, Self.sync(folder) else {
            let reason = String(cString: strerror(errno))
            unlink(path)
            throw HubFailure("An upload can't be kept: \(reason). Check the disk.")
        }
    }

    /// Removes a content; nothing happens where it is not there.
    ///
    /// - Returns: Whether it is gone.
    func remove(_ checksum: String) -> Bool {
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
