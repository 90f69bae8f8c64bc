import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import Foundation
import Synchronization
import Waiting
import WriterHistory

/// Writers whose commits are of all kinds, see `WriterHistory`, beside readers, an observer, and a task
/// that marks what waits as synced and compacts.
///
/// A reader that sees what can't be ends the process with an error, and so does the observer.
struct MixedWriters {
    /// After so many commits of this process each reader reads again.
    private static let commitsPerRead = 8
    /// After so many commits of this process the store is compacted again.
    private static let commitsPerCompaction = 8
    /// The commits that were made until now.
    private static let written = Atomic(0)

    let store: Store
    /// What the commits are drawn from.
    let seed: UInt64

    /// - Parameter most: The most commits of each writer.
    func run(_ writers: Range<Int>, _ most: Int) async throws {
        let commits = writers.count * most
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in writers {
                group.addTask { try await write(writer, most) }
            }
            group.addTask { try await compact(turns: commits / Self.commitsPerCompaction) }
            group.addTask { try await observe() }
            for writer in 0..<8 {
                group.addTask { try await read(writer, turns: commits / Self.commitsPerRead) }
            }
            try await group.waitForAll()
        }
    }

    /// Goes on where the store ends.
    private func write(_ writer: Int, _ most: Int) async throws {
        var history = WriterHistory(seed: seed, writer: writer)
        guard history.advance(to: try records(of: writer)) else {
            KillHelper.fail("writer \(writer) can't go on after commit \(history.count - 1)")
        }
        for _ in 0..<most {
            let commit = history.next
            // Every second one is written on the calling thread, if nothing else is under way.
            if commit.number % 2 == 0 {
                try await store.write(isLocalOnly: commit.isLocalOnly) {
                    try Self.change(commit, of: writer, in: $0)
                }
            } else {
                try writeBlocking(commit, of: writer)
            }
            history.advance()
            KillHelper.acknowledge("\(writer) \(commit.number)\n")
            Self.written.add(1, ordering: .relaxed)
        }
    }

    private func writeBlocking(_ commit: WriterHistory.Commit, of writer: Int) throws {
        try store.write(isLocalOnly: commit.isLocalOnly) {
            try Self.change(commit, of: writer, in: $0)
        }
    }

    private static func change(
        _ commit: WriterHistory.Commit, of writer: Int, in tx: borrowing WriteTransaction
    ) throws {
        for (name, record) in commit.saved.sorted(by: { $0.key < $1.key }) {
            try tx.save(
                Item(
                    id: .init(name), writer: writer, transaction: record.transaction,
                    revision: record.transaction, text: record.text))
        }
        for name in commit.deleted { try tx.delete(Item.ID(name)) }
    }

    /// Waits until so many commits were made.
    private func untilWritten(_ count: Int) async throws {
        try await eventually { Self.written.load(ordering: .relaxed) >= count }
    }

    /// Marks what waits as synced, as an engine does after a push, and compacts the log and the file.
    private func compact(turns: Int) async throws {
        for turn in 1..<turns + 1 {
            try await untilWritten(turn * Self.commitsPerCompaction)
            try await store.withLogWriter { log in
                for change in try OutboxFolder(log.reader).fold(recordsMax: .max).changes {
                    try Self.acknowledge(change, in: log)
                }
                try log.marks.setOutboxFloor(log.head)
            }
            try await store.compact(.keepUnsyncedOnly)
        }
    }

    private static func acknowledge(_ change: PendingChange, in log: LogWriter) throws {
        if change.push == .nothing {
            return try log.marks.settle(change.entity, change.key, through: change.through)
        }
        let version = ServerVersion(
            changeTag: "t\(log.head)", modifiedMilliseconds: Int64(log.head))
        try log.marks.acknowledge(
            change.entity, change.key, through: change.through,
            version: change.push == .delete ? nil : version)
    }

    /// Sees every operation once and in order, whoever wrote it, or hears that it was compacted away.
    private func observe() async throws {
        var next: UInt64?
        for await changes in store.changes() {
            if let next, changes.sequences.lowerBound != next {
                KillHelper.fail("observed \(changes.sequences) where \(next) was due")
            }
            next = changes.sequences.upperBound
        }
    }

    /// Sees whole commits of a writer only, and never fewer than before.
    private func read(_ writer: Int, turns: Int) async throws {
        var history = WriterHistory(seed: seed, writer: writer)
        for turn in 1..<turns + 1 {
            try await untilWritten(turn * Self.commitsPerRead)
            guard history.advance(to: try records(of: writer)) else {
                KillHelper.fail("writer \(writer) went back or is there in part: \(history.count)")
            }
        }
    }

    private func records(of writer: Int) throws -> [String: WriterHistory.Record] {
        let query = Query<Item>().where(#Predicate { $0.writer == writer })
        let items = try store.read { try $0.fetch(query) }
        return Dictionary(
            uniqueKeysWithValues: items.map { item in
                (
                    item.id.description,
                    WriterHistory.Record(transaction: item.transaction, text: item.text)
                )
            })
    }
}
