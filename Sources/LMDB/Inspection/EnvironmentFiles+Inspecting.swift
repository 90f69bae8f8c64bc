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
        names: [String], family: DatabaseFamily? = nil, boot: BootID? = .current,
        scansLoosePages: Bool = false, begin: () throws -> Void = {},
        _ visit: (FileEntry) throws -> Void
    ) throws -> FileInspection {
        try folder.requireDataFile()
        let descriptor = Glibc.open(folder.dataPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: folder.dataPath) }
        defer { Glibc.close(descriptor) }
        let file = DataFile(descriptor: descriptor, path: folder.dataPath)
        let attempts = 8
        for attempt in 1...attempts {
            try begin()
            let redo = try RedoInspection(folder, on: boot)
            var inspector = FileInspector(file: file, names: names, family: family)
            for problem in redo.problems {
                inspector.result.note(FileInspection.Part.redo, problem)
            }
            let waiting = try? WaitingRecords(in: folder, behind: file)
            for problem in waiting?.problems ?? [] {
                inspector.result.note(FileInspection.Part.journal, problem)
            }
            inspector.result.needsRecovery = redo.needsRecovery || waiting?.records.isEmpty == false
            let before = try? file.newestMeta().transaction
            try inspector.inspect(base: try base(redo, file, &inspector.result), visit)
            if scansLoosePages { try inspector.scan(visit) }
            try redo.show(visit)
            try waiting?.show(visit)
            let after = try? file.newestMeta().transaction
            if inspector.result.isSound || before == after || attempt == attempts {
                return inspector.result
            }
        }
        preconditionFailure("The last attempt returns.")
    }

    /// The commit to look at if that is not the last one of the data file.
    private func base(
        _ redo: RedoInspection, _ file: DataFile, _ result: inout FileInspection
    ) throws -> MetaPage? {
        guard let base = redo.base else { return nil }
        guard (try? base.matches(file)) == true,
            let page = try? MetaPage(MetaPage.header(number: 0) + base.meta, path: file.path)
        else {
            result.note(
                .redo, "The data file has to be recovered from 'redo', and is not the one it was.")
            return nil
        }
        return page
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
