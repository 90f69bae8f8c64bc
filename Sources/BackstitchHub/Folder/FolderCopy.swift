import BackstitchHubCore
import Foundation
import Glibc
import LMDB

/// The contents of a hub's backup, or of what was restored from one.
public struct HubCopyReport: Hashable, Sendable {
    /// Entries of the hub's data.
    public var rows = 0
    /// How many of them are records, tombstones included.
    public var records = 0
    /// How many files were copied.
    public var files = 0
    /// The bytes of data and files.
    public var bytes = 0
}

/// A copy of a hub's folder as of one moment, made while a hub serves it.
///
/// It is made in a hidden folder beside the target, verified there, put on disk, and appears by one
/// `rename`. Files are copied before the rows and again after them: one that the rows name is there, also
/// if it came or went in the meantime. Ended at any moment there is no target, and the next copy to it
/// takes away what is left.
struct FolderCopy {
    let source: String
    let target: String
    /// Where the source keeps files, if not in its folder. The copy has all of them in its own.
    let store: HubFileStore?
    /// Told how many files are copied, of how many.
    let progress: @Sendable (_ files: Int, _ of: Int) -> Void

    private var parent: String {
        URL(fileURLWithPath: target).deletingLastPathComponent().path
    }
    private var staging: String {
        parent + "/." + URL(fileURLWithPath: target).lastPathComponent + ".copying"
    }

    /// - Parameter change: Changes the copy before it appears.
    func run(change: @escaping @Sendable (any HubWriting) throws -> Void) throws -> HubCopyReport {
        try checkTarget()
        guard LMDBHubStorage.isThere(in: source) else {
            throw HubError(.notFound, "There is no hub in '\(source)'. Check the folder.")
        }
        let storage = try LMDBHubStorage(at: source)
        defer { storage.close() }
        let stagingFolder = try CopyStagingFolder(staging)
        // After the rename nothing is there.
        defer { stagingFolder.remove() }
        let folder = FolderFiles.existing(in: source)
        let old = try store.files(over: folder)
        let new = try FolderFiles(folder: staging + "/assets")
        try copyAll(folder.all + objects(of: storage), old, to: new)
        let data = staging + "/data"
        var report = HubCopyReport()
        try storage.copy(to: data) { path in
            report = try finish(path, old, new, change)
        }
        guard rename(data + "/data.mdb", staging + "/data.mdb") == 0, rmdir(data) == 0 else {
            throw Self.failure("The copy can't be put together")
        }
        try stagingFolder.sync()
        guard rename(staging, target) == 0 else { throw Self.failure("The copy can't be named") }
        try CopyStagingFolder.sync(parent)
        return report
    }

    private func checkTarget() throws {
        let files = FileManager.default
        if (try? files.attributesOfItem(atPath: target)) != nil {
            throw HubError(
                .alreadyExists,
                "'\(target)' is there already. Name a folder that does not exist yet.")
        }
        var isFolder: ObjCBool = false
        guard files.fileExists(atPath: parent, isDirectory: &isFolder), isFolder.boolValue else {
            throw HubError(
                .notFound, "There is no folder '\(parent)' to make it in. Make that first.")
        }
        let own = URL(fileURLWithPath: source).resolvingSymlinksInPath().path
        let place = URL(fileURLWithPath: parent).resolvingSymlinksInPath().path
        if place == own || place.hasPrefix(own + "/") {
            throw HubError(
                .invalid, "'\(target)' is inside of the hub's folder. Name a place outside of it.")
        }
    }

    static func failure(_ what: String) -> HubError {
        HubError(.inaccessible, "\(what): \(String(cString: strerror(errno))). Check the disk.")
    }

    /// The files that are objects of a bucket.
    private func objects(of storage: LMDBHubStorage) throws -> [HubFile] {
        try storage.readNow { transaction in
            var files: [HubFile] = []
            try transaction.forEachFile { file, isHeld in
                if isHeld, file.object != nil { files.append(file) }
            }
            return files
        }
    }

    /// Copies the files that are there before the rows are copied.
    private func copyAll(_ files: [HubFile], _ old: any HubFiles, to new: FolderFiles) throws {
        for (index, file) in files.enumerated() {
            progress(index, files.count)
            // What is gone or damaged by now is needed by none, or looked at again.
            _ = try new.take(file, from: old)
        }
        progress(files.count, files.count)
    }

    /// Completes the files of copied rows, and verifies both.
    private func finish(
        _ path: String, _ old: any HubFiles, _ new: FolderFiles,
        _ change: @escaping @Sendable (any HubWriting) throws -> Void
    ) throws -> HubCopyReport {
        let copy = try LMDBHubStorage.copy(at: path)
        defer { copy.close() }
        var needed: Set<HubFile> = []
        try copy.readNow { transaction in
            try transaction.forEachFile { file, isHeld in
                var copied = file
                copied.object = nil
                switch try new.holds(copied) ? .taken : new.take(file, from: old) {
                case .taken: needed.insert(copied)
                case .missing where isHeld:
                    throw HubError(
                        .damaged,
                        "The file '\(file.text)' is missing. If a user was removed just now, try "
                            + "again; if not, 'hub doctor' tells what is wrong.")
                case .damaged where isHeld: throw HubError(.damaged, FolderFiles.damaged(file))
                case .missing, .damaged: break
                }
            }
        }
        for file in new.all where !needed.contains(file) { _ = new.remove(file) }
        try copy.change { try $0.forgetObjects() }
        try copy.change(change)
        let diagnosis = try HubDiagnosis(of: copy, new, checkingPages: copy.checkPages)
        if let finding = diagnosis.findings.first {
            throw HubError(
                .damaged,
                "The hub's data is damaged, and no copy is kept. 'hub doctor' tells all of it. "
                    + finding)
        }
        let size = try FileManager.default.attributesOfItem(atPath: path + "/data.mdb")[.size]
        return HubCopyReport(
            rows: diagnosis.rows, records: diagnosis.records, files: needed.count,
            bytes: needed.reduce(size as? Int ?? 0) { $0 + (new.byteCount($1) ?? 0) })
    }
}

/// The hidden folder that a copy is made in, which one process has at a time.
private struct CopyStagingFolder: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw FolderCopy.failure("The folder '\(path)' can't be made")
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            throw FolderCopy.failure("The folder '\(path)' can't be opened")
        }
        do {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw HubError(.busy, "A copy to that place is being made already. Wait for it.")
            }
            // What a copy left that was cut.
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                try FileManager.default.removeItem(atPath: path + "/" + name)
            }
        } catch {
            FileLease.close(locked: descriptor)
            throw error
        }
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit {
        FileLease.close(locked: descriptor)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Puts the folder itself on disk.
    func sync() throws {
        guard fsync(descriptor) == 0 else { throw FolderCopy.failure("The copy can't be synced") }
    }

    static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw FolderCopy.failure("The folder '\(path)' can't be synced")
        }
    }
}
