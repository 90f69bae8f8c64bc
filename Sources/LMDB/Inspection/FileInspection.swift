/// What a look at every page of a data file found.
package struct FileInspection: Sendable {
    /// The parts of the files of an environment.
    package enum Part: Hashable, Sendable {
        /// The two pages at the start that say where everything is.
        case meta
        /// The list of free pages.
        case freePages
        /// The list of the named databases.
        case databases
        case database(String)
        /// The file `journal`.
        case journal
    }

    package struct Problem: Hashable, Sendable {
        package let part: Part
        /// What is wrong, as a sentence.
        package let message: String
    }

    /// The most problems that are listed.
    package static let problemsMax = 100

    /// What is wrong, at most ``problemsMax``.
    package private(set) var problems: [Problem] = []
    /// How many problems there are, listed or not.
    package private(set) var problemCount = 0
    /// The parts that have problems, listed or not.
    package private(set) var damagedParts: Set<Part> = []
    /// The id of the commit that was looked at; nil if no meta page can be read.
    package internal(set) var transaction: UInt64?
    /// The pages that are in use or listed as free.
    package internal(set) var pages = 0
    /// The entries that each database says it has.
    package internal(set) var entries: [String: Int] = [:]
    /// Whether the meta page that was used is surely the last one.
    package internal(set) var isLastCommit = true
    /// Whether the last commits are in the file `journal` only, as after the end of a process.
    package internal(set) var hasWaitingRecords = false
    /// Whether the data file tells where in the journal the commits begin that it lacks.
    package internal(set) var knowsWaitingRecords = true

    package init() {}

    /// Whether nothing is wrong, so that LMDB can use the file.
    package var isSound: Bool { problemCount == 0 }

    mutating func note(_ part: Part, _ message: String) {
        problemCount += 1
        damagedParts.insert(part)
        if problems.count < Self.problemsMax {
            problems.append(Problem(part: part, message: message))
        }
    }
}

/// An entry that an inspection came across. Its bytes are valid during the call only.
package struct FileEntry {
    /// Where an entry was found.
    package enum Place: Sendable {
        /// On a page that is in use and has nothing wrong.
        case tree
        /// On a page that is in use and has something wrong.
        case damagedPage
        /// On a page that nothing refers to: it may be an old one.
        case loosePage
        /// In the file `journal`, behind the commit that was looked at.
        case journal
    }

    /// The database by its place in the names that were given; nil if it is not known.
    package let database: Int?
    package let place: Place
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer
}
