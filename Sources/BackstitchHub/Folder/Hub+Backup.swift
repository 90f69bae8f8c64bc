public import BackstitchHubCore
import WireCrypto

extension Hub {
    /// Copies a hub's folder with its files as of one moment, while a hub may serve it, and verifies the
    /// copy.
    ///
    /// It contains every change that was answered before this call, and no unfinished uploads. The
    /// copy appears when it is complete, verified and on disk; memory does not grow with the hub.
    ///
    /// - Parameters:
    ///   - target: The path of the copy. Nothing may exist there, and its parent must exist.
    ///   - files: Where the hub keeps files, if not in its folder. All of them are fetched: the copy has them in
    ///     its own folder.
    ///   - progress: Told how many files are copied, of how many.
    /// - Throws: A failure that says what to do; nothing is at the path then.
    public static func backUp(
        _ directory: String, to target: String, files: HubFileStore? = nil,
        progress: @escaping @Sendable (_ files: Int, _ of: Int) -> Void = { _, _ in }
    ) throws -> HubCopyReport {
        try FolderCopy(source: directory, target: target, store: files, progress: progress)
            .run { _ in }
    }

    /// Makes a hub's folder from a backup, without changing the backup.
    ///
    /// Earlier change tokens are not valid in it: devices fetch everything again, and send what the
    /// backup lacks. Sessions and credentials stay valid.
    ///
    /// - Parameter directory: The path of the hub's folder. Nothing may exist there.
    /// - Throws: A failure that says what to do; nothing is at the path then.
    public static func restore(
        _ backup: String, to directory: String,
        progress: @escaping @Sendable (_ files: Int, _ of: Int) -> Void = { _, _ in }
    ) throws -> HubCopyReport {
        try FolderCopy(source: backup, target: directory, store: nil, progress: progress)
            .run { transaction in try transaction.beginEpoch { SecretBytes.random($0) } }
    }

    /// As ``diagnose(at:files:)``, and reads all files that records hold too, to compare them with their
    /// checksums.
    public static func verify(
        at directory: String, files store: HubFileStore? = nil
    ) throws -> HubDiagnosis {
        let storage = try LMDBHubStorage.existing(at: directory)
        defer { storage.close() }
        let files = try store.files(over: .existing(in: directory))
        var diagnosis = try HubDiagnosis(of: storage, files, checkingPages: storage.checkPages)
        // Beyond damaged pages nothing is read.
        if diagnosis.rows > 0 { try diagnosis.readFiles(of: storage, files) }
        return diagnosis
    }
}

extension HubDiagnosis {
    /// Reads all files that records hold, and compares them with their checksums.
    package mutating func readFiles(of storage: any SnapshotStorage, _ files: any HubFiles) throws {
        let held = try storage.snapshot(RequestWork()) { transaction in
            var held: [HubFile] = []
            try transaction.forEachFile { if $1 { held.append($0) } }
            return held
        }
        // What is missing was told before.
        for file in held where try files.holds(file) {
            if try files.checksum(of: file) != file.checksum { note(FolderFiles.damaged(file)) }
        }
    }
}
