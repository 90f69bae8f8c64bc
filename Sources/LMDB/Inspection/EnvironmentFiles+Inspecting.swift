import Glibc

extension EnvironmentFiles {
    /// Looks at every page of a data file, without a map of it, so that no damage can crash the
    /// process, and shows the entries that it comes across.
    ///
    /// Nothing is changed. Other processes may have the file open; if one writes meanwhile and
    /// something seems wrong, all is looked at again, and the entries are shown again after `begin`.
    ///
    /// - Parameters:
    ///   - names: The databases that there should be.
    ///   - family: Those beside them; entries of them have the number of their member behind
    ///     ``Database/memberNumberBase``.
    ///   - scansLoosePages: Whether the entries of all pages are shown too, as those of loose pages.
    ///   - begin: Called before the first entry, and again if everything begins anew.
    /// - Throws: `notFoundPath`, `notADirectory`, `foreignFile`, `permissionDenied` or `io` about the
    ///   files; what `visit` throws.
    /// - Complexity: O(*n*) in the pages of the file; some microseconds each.
    package func inspect(
        names: [String], family: DatabaseFamily? = nil, scansLoosePages: Bool = false,
        begin: () throws -> Void = {}, _ visit: (FileEntry) throws -> Void
    ) throws -> FileInspection {
        try folder.requireDataFile()
        let descriptor = Glibc.open(folder.dataPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: folder.dataPath) }
        defer { Glibc.close(descriptor) }
        let file = DataFile(descriptor: descriptor, path: folder.dataPath)
        let attempts = 8
        for attempt in 1...attempts {
            try begin()
            let before = try? file.newestMeta().transaction
            var inspector = FileInspector(file: file, names: names, family: family)
            let waiting = try? WaitingRecords(in: folder, behind: file)
            for problem in waiting?.problems ?? [] {
                inspector.result.note(FileInspection.Part.journal, problem)
            }
            inspector.result.hasWaitingRecords = waiting?.records.isEmpty == false
            inspector.result.knowsWaitingRecords = waiting != nil
            try inspector.inspect(visit)
            if scansLoosePages { try inspector.scan(visit) }
            try waiting?.show(visit)
            let after = try? file.newestMeta().transaction
            if inspector.result.isSound || before == after || attempt == attempts {
                return inspector.result
            }
        }
        preconditionFailure("The last attempt returns.")
    }
}

extension WaitingRecords {
    /// Shows what the records put.
    fileprivate func show(_ visit: (FileEntry) throws -> Void) throws {
        for record in records {
            try record.visitPuts { database, entry in
                try visit(
                    FileEntry(
                        database: Int(database), place: .journal, key: entry.keyBytes,
                        value: entry.valueBytes))
            }
        }
    }
}

extension Folder {
    /// Throws unless the folder has a data file, whatever that is like.
    fileprivate func requireDataFile() throws(LMDBError) {
        guard let status = try FileKey.status(of: path) else {
            throw LMDBError(.notFoundPath, "'\(path)' doesn't exist. Check the path.")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw LMDBError(.notADirectory, "'\(path)' is a file. Give the path of a folder.")
        }
        guard try FileKey(path: dataPath) != nil else {
            throw LMDBError(.notFoundPath, "'\(path)' contains no data.mdb. Check the path.")
        }
    }
}
