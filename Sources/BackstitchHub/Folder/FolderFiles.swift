package import BackstitchHubCore
import Foundation
import Glibc
import LMDB
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
    /// Whether hubs share the folder.
    private let isShared: Bool
    private let serving = Locked<ServingLock?>(nil)
    /// Nil if others may change the uploads.
    private let digests: UploadDigests?
    /// What has parts of uploads be on disk while the next ones come.
    private let flushes = ThreadPool(threadsMax: 4)

    /// - Parameters:
    ///   - home: The hub's folder, which is locked while its files are served; nil for files without a hub.
    ///   - isShared: Whether other hubs may serve it too, each with files that the others see.
    package convenience init(
        folder: String, of home: String? = nil, isShared: Bool = false
    ) throws(HubError) {
        self.init(in: folder, of: home, isShared: isShared)
        for path in [folder, folder + "/incoming", folder + "/parts"] {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw HubError(
                    .inaccessible,
                    "The folder '\(path)' can't be made: \(String(cString: strerror(errno))).")
            }
        }
    }

    private init(in folder: String, of home: String? = nil, isShared: Bool = false) {
        (self.folder, self.home, self.isShared) = (folder, home, isShared)
        digests = isShared ? nil : UploadDigests()
    }

    /// The files in the folder of a hub, to be read. Nothing is made where none are.
    package static func existing(in directory: String) -> FolderFiles {
        FolderFiles(in: directory + "/assets")
    }

    package func beginServing() throws {
        guard let home else { return }
        try serving.withLock { lock in
            guard lock == nil else { return }
            lock = try ServingLock(directory: home, isShared: isShared)
            if isShared { return }
            removeCutUploads()
        }
    }

    package func endServing() { serving.withLock { $0 = nil } }

    package func tryWriting() -> FileSpace {
        var info = statvfs()
        guard statvfs(folder, &info) == 0 else { return .away }
        guard UInt64(info.f_bavail) * UInt64(info.f_frsize) >= Self.freeBytesMin else {
            return .full
        }
        guard let probe = makeFile("ready") else { return Self.lacksSpace ? .full : .away }
        defer { Glibc.close(probe.descriptor) }
        let isWritten = Self.write(Self.probeContent, to: probe.descriptor, at: 0)
        let space: FileSpace = isWritten ? .left : Self.lacksSpace ? .full : .away
        unlink(probe.path)
        return space
    }

    private static let probeContent = [UInt8](repeating: 1, count: 4_096)

    /// Whether the last call failed for want of space.
    private static var lacksSpace: Bool { [ENOSPC, EDQUOT].contains(errno) }

    /// Makes a file where uploads arrive, of a name that begins so and that no other file has.
    private func makeFile(_ name: String) -> (path: [CChar], descriptor: Int32)? {
        var template = Array((folder + "/incoming/\(name)-XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        return descriptor < 0 ? nil : (path: template, descriptor: descriptor)
    }

    package func path(_ file: HubFile) -> String {
        folder(of: file.partition) + "/" + file.checksum
    }

    private func folder(of partition: Partition) -> String { folder + "/" + partition.text }

    package func incomingPath(_ name: [UInt8]) -> String {
        folder + "/incoming/" + name.hexadecimal
    }

    package func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(
            path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("An upload can't be written") }
        defer { Glibc.close(descriptor) }
        guard Self.write(bytes, to: descriptor, at: 0) else {
            throw Self.failure("An upload can't be written")
        }
    }

    package func discard(_ path: String) { unlink(path) }

    /// Removes what unfinished uploads left. No upload may be under way.
    private func removeCutUploads() {
        let incoming = folder + "/incoming"
        for name in Self.names(in: incoming) { unlink(incoming + "/" + name) }
    }

    /// How old an upload is that no hub goes on with, in seconds.
    private static let oldUploadSeconds = 24 * 3_600

    package func removeOldUploads() {
        // No other hub's uploads are there: what was cut went when this one began to serve.
        guard isShared, let made = makeFile("now") else { return }
        defer { Glibc.close(made.descriptor) }
        unlink(made.path)
        // The folder's own clock tells, which may be that of another machine.
        var now = stat()
        guard fstat(made.descriptor, &now) == 0 else { return }
        let incoming = folder + "/incoming"
        for name in Self.names(in: incoming) {
            var status = stat()
            let path = incoming + "/" + name
            if stat(path, &status) == 0,
                status.st_mtim.tv_sec + Self.oldUploadSeconds < now.st_mtim.tv_sec
            {
                unlink(path)
            }
        }
    }

    /// What is in a folder; nothing if it can't be looked at.
    static func names(in folder: String) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package func byteCount(_ file: HubFile) -> Int? {
        file.object == nil ? Self.byteCount(at: path(file)) : nil
    }

    private static func byteCount(at path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Int(status.st_size)
    }

    package func read(_ file: HubFile, _ range: Range<Int>) throws -> [UInt8] {
        guard file.object == nil else {
            throw HubError(
                .invalid, "The file '\(file.text)' is in a bucket. Name it (--bucket).")
        }
        let descriptor = open(path(file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.failure("A file can't be read") }
        defer { Glibc.close(descriptor) }
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let got = pread(descriptor, part.baseAddress, part.count, range.lowerBound + count)
                if got < 0, errno == EINTR { continue }
                failed = got < 0
                guard got > 0 else { return }
                count += got
            }
        }
        guard !failed else { throw Self.failure("A file can't be read") }
        return bytes
    }

    private static func failure(_ what: String) -> HubError {
        HubError(.inaccessible, "\(what): \(String(cString: strerror(errno))). Check the disk.")
    }

    package func partsPath(_ name: [UInt8]) -> String { folder + "/parts/" + name.hexadecimal }

    package func uploadedBytes(at path: String) -> Int { Self.byteCount(at: path) ?? 0 }

    package func append(_ part: [UInt8], to path: String, at offset: Int) throws {
        guard let descriptor = try openAlone(path, makes: offset == 0) else {
            throw PartGap(uploadedBytes: 0)
        }
        // The last of the two who have it closes it.
        let holders = Locked(OpenUpload(descriptor: descriptor))
        defer { holders.withLock { $0.letGo() } }
        let before = uploadedBytes(at: path)
        guard offset <= before else { throw PartGap(uploadedBytes: before) }
        // A part that came to another hub meanwhile must not take away what came after it.
        if offset + part.count <= before, Self.holds(part, descriptor, at: offset) { return }
        let known = digests?.take(path, descriptor)
        let digest = offset == 0 ? UploadDigests.Upload() : offset == before ? known : nil
        // What a cut write left behind the part must not count as one that came.
        guard ftruncate(descriptor, offset) == 0, Self.write(part, to: descriptor, at: offset)
        else {
            let failure = Self.failure("An upload can't be written")
            ftruncate(descriptor, offset)
            throw failure
        }
        // The next request for the upload waits for its lock, and so until the bytes are on disk.
        holders.withLock { $0.count += 1 }
        flushes.submit { [folder] in
            if fsync(descriptor) != 0 || before == 0 && !Self.sync(folder + "/parts") {
                ftruncate(descriptor, offset)
            }
            holders.withLock { $0.letGo() }
        }
        guard let digest else { return }
        digest.add(part)
        digests?.put(digest, path, descriptor)
    }

    package func take(_ path: String, byteCount: Int, to place: String) throws -> Bool {
        guard let descriptor = try openAlone(path, makes: false) else { return false }
        defer { FileLease.close(locked: descriptor) }
        guard uploadedBytes(at: path) == byteCount else { return false }
        // A request that waits for the lock then sees that the path has another file or none, and begins
        // anew.
        guard rename(path, place) == 0 else { throw Self.failure("An upload can't be taken") }
        digests?.move(path, to: place)
        return true
    }

    package func putBack(_ place: String, to path: String) {
        if FileName.renameIfFree(place, to: path) {
            digests?.move(place, to: path)
        } else {
            unlink(place)
        }
    }

    package func digest(ofUploadAt path: String) throws -> [UInt8] {
        guard let descriptor = try openAlone(path, makes: false) else {
            throw Self.failure("An upload can't be read")
        }
        defer { FileLease.close(locked: descriptor) }
        if let upload = digests?.take(path, descriptor) { return upload.value }
        let digest = RunningDigest()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure("An upload can't be read") }
            guard count > 0 else { return digest.value }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Opens an upload for one caller of all hubs alone, until the descriptor is closed.
    ///
    /// - Returns: nil if there is no upload, and none is made.
    private func openAlone(_ path: String, makes: Bool) throws -> Int32? {
        while true {
            let descriptor = open(
                path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (makes ? O_CREAT : 0), 0o600)
            if descriptor < 0, errno == ENOENT, !makes { return nil }
            guard descriptor >= 0 else { throw Self.failure("An upload can't be opened") }
            var (own, named) = (stat(), stat())
            var result = flock(descriptor, LOCK_EX)
            while result != 0, errno == EINTR { result = flock(descriptor, LOCK_EX) }
            guard result == 0, fstat(descriptor, &own) == 0 else {
                let failure = Self.failure("An upload can't be locked")
                Glibc.close(descriptor)
                throw failure
            }
            // The request that had the lock before may have moved or removed the file.
            if stat(path, &named) == 0, own.st_ino == named.st_ino { return descriptor }
            FileLease.close(locked: descriptor)
        }
    }

    /// Whether an upload has these bytes at an offset.
    private static func holds(_ part: [UInt8], _ descriptor: Int32, at offset: Int) -> Bool {
        var found = [UInt8](repeating: 0, count: part.count)
        let count = found.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, $0.count, offset)
        }
        return count == part.count && found == part
    }

    /// What is written at a time, in bytes. For more, Linux takes large runs of pages of the cache, which a
    /// virtual machine often has yet to get from its host: that took five times as long.
    private static let pieceBytes = 256 << 10

    private static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let part = UnsafeRawBufferPointer(
                    rebasing: bytes[written...].prefix(pieceBytes))
                let count = pwrite(descriptor, part.baseAddress, part.count, offset + written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
    }

    package func keep(_ path: String, as file: HubFile) throws {
        do {
            guard let upload = try openAlone(path, makes: false) else {
                throw Self.failure("An upload can't be kept")
            }
            defer { FileLease.close(locked: upload) }
            guard fsync(upload) == 0 else { throw Self.failure("An upload can't be kept") }
            try makeFolder(of: file.partition)
            // A file that is there stays, so that reads of it continue.
            let isNew = FileName.renameIfFree(path, to: self.path(file))
            guard isNew || errno == EEXIST, Self.sync(folder(of: file.partition)) else {
                throw Self.failure("An upload can't be kept")
            }
            if !isNew { unlink(path) }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Makes the folder of a partition; nothing happens if it is there.
    private func makeFolder(of partition: Partition) throws {
        if mkdir(folder(of: partition), 0o700) == 0 {
            guard Self.sync(folder) else { throw Self.failure("A folder can't be made") }
        } else if errno != EEXIST {
            throw Self.failure("A folder can't be made")
        }
    }

    package func remove(_ file: HubFile) -> Bool { unlink(path(file)) == 0 || errno == ENOENT }

    package func removeAll(of partition: Partition) throws {
        let folder = folder(of: partition)
        for name in Self.names(in: folder) { unlink(folder + "/" + name) }
        guard rmdir(folder) == 0 || errno == ENOENT else {
            throw Self.failure("The files of a database can't be removed")
        }
    }

    private static func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return fsync(descriptor) == 0
    }
}

/// The open file of an upload, which is locked. Closing it lets the next part in, so the last holder does that.
private struct OpenUpload {
    let descriptor: Int32
    var count = 1

    mutating func letGo() {
        count -= 1
        if count == 0 { FileLease.close(locked: descriptor) }
    }
}
