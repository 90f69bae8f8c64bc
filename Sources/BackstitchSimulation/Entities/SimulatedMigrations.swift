import Backstitch
import Threading

/// The data migrations of the application, and what is seen of them in one store, whichever process makes
/// them.
final class SimulatedMigrations: Sendable {
    struct Failed: Error {}

    /// How many there are in the newest version of the application.
    static let countMax = 2

    private struct Seen {
        /// Those after which an opening ended well.
        var done: Set<String> = []
        /// How many records are changed before a change throws; nil if none does.
        var failsAfter: Int?
        var problems: [String] = []
    }

    private let seen = Locked(Seen())

    /// Those of the version of the application that has a number of them.
    func first(_ count: Int) -> [DataMigration] {
        let all = [
            // In small parts, so that it can end between two.
            DataMigration("1: plain ranks", each: SimulatedNote.self, inPartsOf: 2) {
                transaction, note in
                try self.change("1: plain ranks")
                guard note.plain == nil else { return }
                var note = note
                note.plain = Int(note.rank)
                try transaction.save(note)
            },
            DataMigration("2: a folder for all, loud tags") { transaction in
                try self.change("2: a folder for all, loud tags")
                try transaction.save(SimulatedFolder(id: "everything", name: "Everything"))
                for var tag in try transaction.fetch(Query<SimulatedTag>()) {
                    try self.change("2: a folder for all, loud tags")
                    tag.label = tag.label.uppercased()
                    try transaction.save(tag)
                }
            },
        ]
        return Array(all.prefix(count))
    }

    /// Notes that a migration is about to change something.
    private func change(_ name: String) throws {
        try seen.withLock { seen in
            if seen.done.contains(name) {
                seen.problems.append("'\(name)' is made though it was done")
            }
            guard let left = seen.failsAfter else { return }
            if left == 0 { throw Failed() }
            seen.failsAfter = left - 1
        }
    }

    /// Lets a change throw after a number of others; nil ends that.
    func fail(after count: Int?) { seen.withLock { $0.failsAfter = count } }

    /// Looks at a store that was opened with a number of migrations.
    ///
    /// - Parameter isWhole: Whether the opening made all of the first one, and nothing else happened since.
    func opened(_ store: Store, _ count: Int, isWhole: Bool) throws {
        let known = try store.migrations.records()
        var problems: [String] = []
        for name in first(count).map(\.name) where known.first(named: name)?.date == nil {
            problems.append("'\(name)' is not done in a store that was opened with it")
        }
        if isWhole, count > 0 {
            let left = try store.read {
                try $0.fetch(Query<SimulatedNote>().where(\.plain, is: nil))
            }
            problems += left.map { "\($0.id) has no plain rank" }
        }
        seen.withLock { seen in
            seen.done.formUnion(known.filter { $0.date != nil }.map(\.name))
            seen.problems += problems
        }
    }

    /// Whether a store never began the first one.
    func isNew(to store: Store) throws -> Bool {
        try store.migrations.records().first(named: first(1)[0].name) == nil
    }

    /// What shows that a store saw a migration twice, or one in part.
    var problems: [String] { seen.withLock(\.problems) }
}

extension [DataMigration.Record] {
    fileprivate func first(named name: String) -> DataMigration.Record? {
        first { $0.name == name }
    }
}
