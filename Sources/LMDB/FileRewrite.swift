import Threading

/// Writes the data file of a folder anew, with the entries that there are and nothing else.
///
/// In a file that is in use, deleted bytes stay in free pages, in the unused parts of others, and in keys
/// that separate pages. A new file has none of them, and neither does the folder: its journal
/// goes too.
package struct FileRewrite {
    /// Bytes of entries that one commit of a new file takes, but for the last entry.
    private static let bytesPerCommit = 4 << 20

    private let directory: String
    private var options: EnvironmentOptions
    private let change: Change?

    /// An entry of the new file.
    package struct Entry: Sendable {
        package var key: [UInt8]
        package var value: [UInt8]
        /// The member of the family that it goes to; 0 for the database that it comes from.
        package var member = 0
    }

    /// What a rewrite makes of the entries of a file.
    package struct Change: Sendable {
        let memberCount: Int
        let entry: @Sendable (_ database: String, inout Entry) throws -> Void
        let progress: @Sendable (_ done: Int, _ total: Int) -> Void

        /// - Parameters:
        ///   - memberCount: The members of the family that the new file has.
        ///   - progress: Called now and then with the entries that were written.
        ///   - entry: Changes an entry of one of the databases that the options name. Keys of one
        ///     database have to stay in order, and those of each member too.
        package init(
            memberCount: Int, progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void,
            entry: @escaping @Sendable (_ database: String, inout Entry) throws -> Void
        ) {
            (self.memberCount, self.progress, self.entry) = (memberCount, progress, entry)
        }
    }

    /// - Parameters:
    ///   - options: How the environment is opened.
    ///   - change: What is changed; nil for nothing.
    package init(of directory: String, options: EnvironmentOptions, change: Change? = nil) {
        (self.directory, self.options, self.change) = (directory, options, change)
        self.options.createsIfMissing = false
        // One that is there is applied all the same.
        self.options.journal = nil
    }

    /// Puts a new file in the place of the old one at once, complete, checked and on disk.
    ///
    /// Nobody may have the environment open, and from the beginning on nobody can open it.
    ///
    /// - Throws: `busy` if it is open, or was written to meanwhile; `notFoundPath`; `diskFull`: both files
    ///   are there for a while; what opening throws, or the change. Nothing is changed then.
    /// - Complexity: O(*n*) in the bytes of all entries.
    package func run() throws {
        let folder = Folder(path: directory)
        try folder.refuseOpen()
        // Recovers what is to be recovered, and puts what waits in a journal into the data file.
        try Environment.open(at: directory, options: options).close()
        var reading = options
        reading.isReadOnly = true
        let source = try Environment.open(at: directory, options: reading)
        defer { source.close() }
        let lock = try RepairLock(folder)
        let draft = try Draft(of: folder)
        let commit = try fill(draft.folder.path, from: source)
        source.close()
        let path = draft.folder.path
        try EnvironmentFiles(at: directory).replaceData(
            movingFrom: path, after: commit, holding: lock)
        withExtendedLifetime(draft) {}
    }

    /// Copies all entries into a new environment.
    ///
    /// - Returns: The id of the last commit that the copy has.
    private func fill(_ draft: String, from source: Environment) throws -> UInt64 {
        var writing = options
        writing.createsIfMissing = true
        writing.durability = .relaxed
        writing.journal = nil
        let target = try Environment.open(at: draft, options: writing)
        defer { target.close() }
        return try source.read { snapshot in
            let access = snapshot.access
            let memberCount = change?.memberCount ?? access.members
            if memberCount > 0 {
                try target.writer.submitAndWait {
                    try target.write { try $0.access.makeMembers(through: memberCount) }
                }
            }
            var (done, total) = (0, 0)
            for name in options.databases { total += try access.count(of: source.database(name)) }
            for name in options.databases {
                try access.withCursor(in: source.database(name)) { cursor in
                    var isThere = try cursor.first()
                    while isThere {
                        let part = try EntryRun(&cursor, &isThere, bytesMax: Self.bytesPerCommit) {
                            try change?.entry(name, &$0)
                        }
                        try Self.append(part, to: name, of: target)
                        done += part.entries.count
                        change?.progress(done, total)
                    }
                }
            }
            for member in 0..<access.members {
                guard let rows = access.member(member + 1) else { continue }
                try access.withCursor(in: rows) { cursor in
                    var isThere = try cursor.first()
                    while isThere {
                        let part = try EntryRun(&cursor, &isThere, bytesMax: Self.bytesPerCommit) {
                            $0.member = member + 1
                        }
                        try Self.append(part, to: "", of: target)
                    }
                }
            }
            return snapshot.id
        }
    }

    /// Adds entries behind all others of their databases.
    private static func append(
        _ part: EntryRun, to name: String, of target: Environment
    ) throws {
        try target.writer.submitAndWait {
            try target.write { transaction in
                let access = transaction.access
                for entry in part.entries {
                    let database =
                        entry.member == 0
                        ? try target.database(name) : access.member(entry.member)
                    guard let database else { throw LMDBError.noMember(entry.member) }
                    try entry.key.withUnsafeBytes { key in
                        try entry.value.withUnsafeBytes { value in
                            try access.append(key, value, in: database)
                        }
                    }
                }
            }
        }
    }
}

extension LMDBError {
    fileprivate static func noMember(_ member: Int) -> LMDBError {
        LMDBError(.damaged, "An entry belongs to database \(member), which is not there.")
    }
}

/// Entries that follow one another.
private struct EntryRun: Sendable {
    var entries: [FileRewrite.Entry] = []

    /// Copies entries from where a cursor is, and leaves it at the first that it did not copy.
    init(
        _ cursor: inout Cursor, _ isThere: inout Bool, bytesMax: Int,
        change: (inout FileRewrite.Entry) throws -> Void
    ) throws {
        var bytes = 0
        while isThere, bytes < bytesMax {
            var entry = FileRewrite.Entry(key: Array(cursor.key), value: Array(cursor.value))
            bytes += entry.key.count + entry.value.count
            try change(&entry)
            entries.append(entry)
            isThere = try cursor.next()
        }
    }
}
