import BackstitchTesting

/// The commits of one writer and the records that they leave, both drawn from a seed.
///
/// A test and the processes that it starts draw the same ones, so that both know what has to be there.
package struct WriterHistory: Sendable {
    /// What a record has.
    package struct Record: Hashable, Sendable {
        /// The commit that saved it last.
        package let transaction: Int
        package let text: String

        package init(transaction: Int, text: String) {
            self.transaction = transaction
            self.text = text
        }
    }

    /// What a commit changes.
    package struct Commit: Sendable {
        package let number: Int
        /// By name, those that are new too.
        package fileprivate(set) var saved: [String: Record] = [:]
        package fileprivate(set) var deleted: [String] = []
        /// Whether the service never gets it.
        package fileprivate(set) var isLocalOnly = false
    }

    /// Together with the log's copies more than a record of the journal may have.
    private static let partsPerBatch = 48
    private static let bytesPerPart = 12 << 10

    private let seed: UInt64
    private let writer: Int
    /// The commits that were made.
    package private(set) var count = 0
    /// The records that they left, by name.
    package private(set) var records: [String: Record] = [:]

    package init(seed: UInt64, writer: Int) {
        self.seed = seed
        self.writer = writer
    }

    /// The record that the commits save which are neither local nor deletions.
    private var mark: String { "\(writer)-mark" }
    /// The record of local-only commits.
    private var local: String { "\(writer)-local" }

    /// The next commit: a single save, a save or delete of some records, a batch that no record of the
    /// journal can hold, deletes alone, or one that stays local.
    package var next: Commit {
        var random = SeededGenerator(
            seed: (seed << 48) ^ (UInt64(writer) << 32) ^ UInt64(count))
        let choice = Int.random(in: 0..<16, using: &random)
        let parts = records.keys.filter { $0 != mark && $0 != local }.sorted()
        var commit = Commit(number: count)
        if choice < 2, !parts.isEmpty {
            commit.deleted = parts
            return commit
        }
        guard choice > 4 else {
            commit.isLocalOnly = true
            commit.saved[local] = Record(transaction: count, text: "")
            return commit
        }
        commit.saved[mark] = Record(transaction: count, text: "")
        if choice == 5 {
            for part in 0..<Self.partsPerBatch {
                commit.saved["\(writer)-\(count)-\(part)"] = long(part)
            }
        } else if choice > 9 {
            for part in 0..<3 {
                commit.saved["\(writer)-\(count)-\(part)"] = Record(
                    transaction: count, text: "short")
            }
            commit.deleted = Array(parts.prefix(1))
        }
        return commit
    }

    private func long(_ part: Int) -> Record {
        let line = "\(writer) \(count) \(part)\n"
        let text = String(repeating: line, count: Self.bytesPerPart / line.utf8.count + 1)
        return Record(transaction: count, text: text)
    }

    /// Makes the next commit.
    package mutating func advance() {
        let commit = next
        for name in commit.deleted { records[name] = nil }
        records.merge(commit.saved) { $1 }
        count += 1
    }

    /// Makes commits until these are the records that they leave.
    ///
    /// - Returns: Whether they are, as a whole and not from before.
    package mutating func advance(to found: [String: Record]) -> Bool {
        let newest = found.values.map(\.transaction).max() ?? -1
        while count <= newest { advance() }
        // A commit that only deletes leaves no record with its number.
        if records != found { advance() }
        return records == found
    }
}
