import BackstitchCore
import BackstitchLog
import Foundation
import Glibc
import LMDB

/// The files of a store, named by the SHA-256 of their content, in a folder beside the database.
///
/// | path | what it is |
/// |---|---|
/// | `blobs/ab/abcd…` | a content, whole and on disk |
/// | `blobs/incoming/…` | a content that is being added; locked by who writes it |
/// | `blobs/partial/…` | the beginning of a content that is being downloaded; locked by who does |
/// | `blobs/corrupt/…` | what was found to be another content than its name says |
package struct ContentFolder: Sendable {
    private let root: String

    package init(store directory: String) { root = directory + "/blobs" }

    private var incoming: String { root + "/incoming" }
    private var partial: String { root + "/partial" }
    private var corrupt: String { root + "/corrupt" }

    /// The place of a content, whether it is there or not.
    package func path(_ content: ContentKey) -> String { folder(content) + "/" + content.text }

    private func folder(_ content: ContentKey) -> String { root + "/" + content.text.prefix(2) }

    /// The size of a content in bytes; nil if it is not here. What is no regular file is no content.
    package func byteCount(_ content: ContentKey) -> Int64? {
        status(content).flatMap { Self.isRegular($0) ? Int64($0.st_size) : nil }
    }

    /// Whether anything has the name of a content.
    func isTaken(_ content: ContentKey) -> Bool { status(content) != nil }

    private func status(_ content: ContentKey) -> stat? {
        var status = stat()
        return unsafe lstat(path(content), &status) == 0 ? status : nil
    }

    private static func isRegular(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG }

    package func holds(_ content: ContentKey) -> Bool { byteCount(content) != nil }

    // MARK: Writing

    /// Makes the folders in which contents begin.
    package func prepare() throws {
        for folder in [root, incoming, partial] { try make(folder) }
    }

    /// Makes a folder in a folder that is there, on disk when this returns.
    private func make(_ folder: String) throws {
        if unsafe mkdir(folder, 0o700) == 0 {
            try Self.sync(String(folder[..<(folder.lastIndex(of: "/") ?? folder.endIndex)]))
        } else if errno != EEXIST {
            throw Self.failure("make the folder '\(folder)'")
        }
    }

    /// Begins a file for a content that is not known yet. The returned descriptor holds its lock.
    func beginIncoming() throws -> (path: String, descriptor: Int32) {
        try prepare()
        return try begin(in: incoming)
    }

    /// Begins a file with a name that no other has. The returned descriptor holds its lock.
    private func begin(in folder: String) throws -> (path: String, descriptor: Int32) {
        while true {
            var template = Array((folder + "/XXXXXX").utf8CString)
            let descriptor = unsafe mkstemp(&template)
            guard descriptor >= 0 else { throw Self.failure("begin a file in '\(folder)'") }
            let path = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            // A process that empties the folder may have taken the lock in between, and removed the file.
            if flock(descriptor, LOCK_EX) == 0, Self.isNamed(path, descriptor) {
                return (path, descriptor)
            }
            FileLease.close(locked: descriptor)
        }
    }

    /// Whether a path is still that of an open file.
    private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
        var (own, named) = (stat(), stat())
        return unsafe fstat(descriptor, &own) == 0 && stat(path, &named) == 0
            && own.st_ino == named.st_ino
    }

    /// Whether an open file has more than one name.
    private static func hasOtherName(_ descriptor: Int32) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_nlink > 1
    }

    /// Locks the file with the beginning of a content, and makes it if it is missing. The returned descriptor
    /// holds the lock. If another process has locked the file, a new file is begun.
    package func beginPartial(_ content: ContentKey) throws -> (path: String, descriptor: Int32) {
        try prepare()
        let path = partial + "/" + content.text
        while true {
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw Self.failure("begin the file '\(path)'") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                return try begin(in: partial)
            }
            if Self.isNamed(path, descriptor) {
                if !Self.hasOtherName(descriptor) { return (path, descriptor) }
                // A process was killed after it gave the file the name of its content, and before it took
                // this one away. A write to the file would change the content.
                unsafe unlink(path)
            }
            FileLease.close(locked: descriptor)
        }
    }

    /// Gives a file, which is on disk, the name of its content, unless that is there already: then the
    /// file is removed. The name is on disk when this returns.
    package func keep(_ path: String, as content: ContentKey) throws {
        try make(folder(content))
        TestPoint.mark("a content gets its name")
        while !FileName.renameIfFree(path, to: self.path(content)) {
            guard errno == EEXIST else { throw Self.failure("keep the file '\(path)'") }
            // The file that is there stays, because a process may be reading it.
            guard !holds(content) else {
                unsafe unlink(path)
                break
            }
            // A link, a pipe or a folder is no content.
            try setAside(content)
        }
        try Self.sync(folder(content))
    }

    /// Keeps bytes as a content, on disk when this returns.
    func keep(_ bytes: Data, as content: ContentKey) throws {
        if holds(content) { return try Self.sync(folder(content)) }
        let writer = try AssetWriter(self)
        try writer.write(bytes)
        try keep(writer.end().path, as: content)
        writer.release()
    }

    /// Gives another store's folder the contents that are here and whole, on disk when this returns: a second
    /// name for each, or a copy where there can be none.
    ///
    /// - Complexity: O(*n*) in their bytes.
    func copy(to other: ContentFolder, _ contents: [ContentKey]) throws {
        let here = contents.filter(holds)
        guard !here.isEmpty else { return }
        try other.prepare()
        var folders: Set<String> = []
        for content in here {
            guard let found = try? Self.hash(ofFileAt: path(content)).key, found == content else {
                continue
            }
            try other.make(other.folder(content))
            let target = other.path(content)
            if unsafe link(path(content), target) != 0, errno != EEXIST {
                guard
                    (try? FileManager.default.copyItem(atPath: path(content), toPath: target))
                        != nil
                else { throw Self.failure("copy the file '\(path(content))'") }
                try Self.sync(target)
            }
            folders.insert(other.folder(content))
        }
        for folder in folders { try Self.sync(folder) }
    }

    /// Copies a content into another folder, under its name, on disk when this returns.
    ///
    /// - Returns: Its bytes; nil if it is not here, or there already.
    func copy(_ content: ContentKey, into target: String) throws -> Int64? {
        guard unsafe mkdir(target, 0o755) == 0 || errno == EEXIST else {
            throw Self.failure("make the folder '\(target)'")
        }
        let final = target + "/" + content.text
        guard holds(content), !FileManager.default.fileExists(atPath: final) else { return nil }
        let (found, byteCount) = try Self.hash(ofFileAt: path(content))
        guard found == content else {
            throw StoreError(
                .assetCorrupt,
                "The file \(content.text) of the store is another content. Run 'backstitch assets "
                    + "STORE --verify'.")
        }
        let draft = final + ".new"
        try? FileManager.default.removeItem(atPath: draft)
        guard (try? FileManager.default.copyItem(atPath: path(content), toPath: draft)) != nil
        else { throw Self.failure("copy the file '\(path(content))'") }
        try Self.sync(draft)
        guard unsafe rename(draft, final) == 0 else {
            throw Self.failure("make the file '\(final)'")
        }
        try Self.sync(target)
        return byteCount
    }

    /// The files in a folder that are named as contents.
    static func contentNames(in folder: String) throws -> [String] {
        guard let entries = unsafe opendir(folder) else {
            throw failure("read the folder '\(folder)'")
        }
        unsafe closedir(entries)
        return names(in: folder).filter { ContentHash.isDigits($0) }.sorted()
    }

    /// Removes a content; nothing happens if it is not here.
    func remove(_ content: ContentKey) throws {
        guard unsafe unlink(path(content)) == 0 || errno == ENOENT else {
            throw Self.failure("remove the file '\(path(content))'")
        }
    }

    /// Moves a content away that is not what its name says.
    func setAside(_ content: ContentKey) throws {
        try prepare()
        try make(corrupt)
        guard unsafe rename(path(content), corrupt + "/" + content.text) == 0 || errno == ENOENT
        else {
            throw Self.failure("move the file '\(path(content))'")
        }
    }

    /// Removes what writers left that have ended; those that go on keep their files.
    func emptyIncoming() {
        for name in Self.names(in: incoming) { removeUnlocked(incoming + "/" + name) }
    }

    /// Removes the beginnings of contents that are of no use any more. One that is being downloaded stays.
    ///
    /// - Parameter isWanted: Whether a content is still wanted.
    func emptyPartial(_ isWanted: (ContentKey) throws -> Bool) rethrows {
        for name in Self.names(in: partial) {
            // Others than those named by a content are not gone on with.
            if let hash = ContentHash.bytes(name), try isWanted(ContentKey(hash: hash)) { continue }
            removeUnlocked(partial + "/" + name)
        }
    }

    private func removeUnlocked(_ path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
        FileLease.close(locked: descriptor)
    }

    // MARK: Reading

    /// The contents that are here, in no order.
    package var contents: [ContentKey] {
        Self.names(in: root).filter { $0.utf8.count == 2 }.flatMap { folder in
            Self.names(in: root + "/" + folder).compactMap { name in
                ContentHash.bytes(name).map { ContentKey(hash: $0) }
            }
        }
    }

    /// The files that are no whole contents: those that are being added, or were.
    package var incomingCount: Int { Self.names(in: incoming).count }

    /// The names of the contents that have a beginning here.
    package var partialNames: [String] { Self.names(in: partial).sorted() }

    /// When a content was put in its place, in milliseconds since 1970; nil if it is not here.
    func changedMilliseconds(_ content: ContentKey) -> Int64? {
        var status = stat()
        guard unsafe stat(path(content), &status) == 0 else { return nil }
        return Int64(status.st_ctim.tv_sec) * 1_000 + Int64(status.st_ctim.tv_nsec) / 1_000_000
    }

    /// Opens a regular file for reading, and gives its size. A pipe or a device is refused at once.
    ///
    /// - Throws: `inaccessible`, `io`.
    static func openRegular(_ path: String) throws -> (descriptor: Int32, byteCount: Int64) {
        // To open a pipe otherwise waits until somebody writes to it.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 || errno == ELOOP else {
            throw failure("read the file '\(path)'")
        }
        var status = stat()
        guard descriptor >= 0, unsafe fstat(descriptor, &status) == 0, isRegular(status) else {
            if descriptor >= 0 { close(descriptor) }
            throw StoreError(
                .inaccessible, "'\(path)' is no regular file. Give the path of a file itself.")
        }
        return (descriptor, Int64(status.st_size))
    }

    /// The SHA-256 and the size of a file, read in parts.
    package static func hash(ofFileAt path: String) throws -> (key: ContentKey, byteCount: Int64) {
        let descriptor = try openRegular(path).descriptor
        defer { close(descriptor) }
        var hash = SHA256()
        try unsafe visit(descriptor) { unsafe hash.update($0) }
        let byteCount = Int64(hash.byteCount)
        return (ContentKey(hash: hash.finish()), byteCount)
    }

    /// The bytes that are read at a time.
    static let partBytes = 256 << 10

    /// Visits the parts of an open file from where it stands.
    static func visit(
        _ descriptor: Int32, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: partBytes, alignment: 16)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read a file") }
            guard count > 0 else { return }
            try unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let entries = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(entries) }
        var names: [String] = []
        while let entry = unsafe readdir(entries) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Has a folder's names, or a file's bytes, be on disk.
    package static func sync(_ path: String) throws {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open '\(path)'") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("sync '\(path)'") }
    }

    /// The error of the last call of the system.
    static func failure(_ what: String) -> StoreError {
        let reason = errno
        let text = unsafe "The system can't \(what): \(String(cString: strerror(reason)))."
        switch reason {
        case ENOSPC, EDQUOT:
            return StoreError(.full, text + " Free space on the disk, or evict files.")
        case EACCES, EPERM, EROFS, ENOENT, ENOTDIR:
            return StoreError(.inaccessible, text + " Check the path and its mode.")
        default: return StoreError(.io, text)
        }
    }
}
