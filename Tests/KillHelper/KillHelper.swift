import Backstitch
import BackstitchStore
import Foundation
import Glibc
import Synchronization
import Waiting

/// Writes transactions, prints each that was acknowledged, and is idle after its last one until it is killed.
///
/// Transaction t of writer w inserts w-t-a, w-t-b and w-t-c, updates w-(t-1)-a and deletes
/// w-(t-1)-b: five operations, but for the first one's three. It goes on where the store ends.
///
/// When the file is there that has the path of the store, `-close-` and the first writer as its name, it closes the
/// store in the midst of all that, and ends with 0.
///
/// Its arguments are the path of the store, the number of its first writer, its mode, and the most that it
/// does: transactions of each writer. All that runs beside the writers ends with a count too. So a process
/// does the same however long a test needs for its own part.
///
/// With the mode `alone` it writes. With `shared` it shares the store: it also reads and observes, and ends
/// with an error if what it sees can't be. With `full` and `relaxed` it does so too, at that durability,
/// and its commits are of all kinds, drawn from a seed that one more argument has, see ``MixedWriters``.
/// With `plain` instead it does not keep the views up; with `files` it writes files, see ``FileWriter``;
/// with `transfer` it exchanges them with a hub, which four more arguments tell, see ``FileDevice``; with
/// `migrate` it makes data migrations, see ``Migrations``; with `versions` and `unnumbered` it is a version
/// of a program and does what it is told, see ``Versions``.
@main struct KillHelper {
    static let writers = 4
    /// After so many transactions of this process each reader reads again.
    private static let transactionsPerRead = 16
    /// The transactions that were written until now.
    private static let written = Atomic(0)

    static func main() async throws {
        endWithReader()
        let arguments = CommandLine.arguments
        guard arguments.count > 4, let first = Int(arguments[2]), let most = Int(arguments[4])
        else { fail("the arguments are path, writer, mode and most") }
        try await run(arguments[3], at: arguments[1], first, most, Array(arguments.dropFirst(5)))
    }

    /// Does what a mode is for, and is idle then, with the store open.
    private static func run(
        _ mode: String, at path: String, _ first: Int, _ most: Int, _ more: [String]
    ) async throws {
        if mode == "files" {
            return try await FileWriter(path, number: first) { acknowledge($0) }.run(most)
        }
        if mode == "transfer" {
            return try await FileDevice(path, number: first, hub: more) { acknowledge($0) }
                .run(most)
        }
        if mode == "versions" || mode == "unnumbered" {
            return try Versions.serve(path, version: first, isNumbered: mode == "versions")
        }
        if mode == "migrate" { return try await Migrations.make(in: path, most: most) }
        let durability = StoreConfiguration.Durability(rawValue: mode)
        var configuration = mode == "plain" ? StoreConfiguration() : Views.configuration
        configuration.durability = durability ?? .full
        let store = try Store(
            at: path, schema: StoreSchema(Item.self), configuration: configuration)
        close(store, when: "\(path)-close-\(first)")
        do {
            if durability == nil {
                let isSharing = mode == "shared"
                let writers = first..<first + (isSharing ? 2 : Self.writers)
                try await use(store, writers, most, isSharing: isSharing)
            } else {
                guard let seed = more.first.flatMap({ UInt64($0) }) else {
                    fail("a seed is missing")
                }
                try await MixedWriters(store: store, seed: seed).run(first..<first + 2, most)
            }
        } catch let error as StoreError where error.code == .closed {
            // The thread that closed it ends the process.
        }
        withExtendedLifetime(store) { idle() }
    }

    /// Writes, and does what is done beside that.
    private static func use(
        _ store: Store, _ writers: Range<Int>, _ most: Int, isSharing: Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in writers {
                group.addTask { try await goOn(writing: writer, to: store, most) }
            }
            group.addTask { try await shrink(store, turns: most, each: writers.count) }
            if isSharing {
                group.addTask { try await observe(store) }
                let turns = writers.count * most / transactionsPerRead
                for writer in 0..<8 {
                    group.addTask { try await read(writer, in: store, turns: turns) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Closes the store when a file is there, whatever is under way, and ends the process.
    private static func close(_ store: Store, when path: String) {
        Thread.detachNewThread {
            blockUntil { FileManager.default.fileExists(atPath: path) }
            store.close()
            _exit(0)
        }
    }

    /// Ends the process when the test that reads what it prints has gone, which may have been killed itself.
    private static func endWithReader() {
        Thread.detachNewThread {
            var output = pollfd(fd: 1, events: 0, revents: 0)
            while poll(&output, 1, -1) < 1 {}
            _exit(0)
        }
    }

    /// Waits to be killed.
    static func idle() -> Never { while true { pause() } }

    private static func goOn(writing writer: Int, to store: Store, _ most: Int) async throws {
        let mine = Query<Item>().where(#Predicate { $0.writer == writer })
        let known = try store.read { try $0.fetch(mine).map(\.transaction).max() }
        let next = (known ?? -1) + 1
        for transaction in next..<next + most {
            try await untilThereIsSpace { try await write(transaction, of: writer, to: store) }
            acknowledge("\(writer) \(transaction)\n")
            written.add(1, ordering: .relaxed)
        }
    }

    /// Tries again while the disk is full. Nothing but writes may find that out.
    private static func untilThereIsSpace(_ body: () async throws -> Void) async throws {
        try await eventually {
            do {
                try await body()
                return true
            } catch let error as StoreError where error.code == .full {
                return false
            }
        }
    }

    /// Waits until so many transactions were written.
    private static func untilWritten(_ count: Int) async throws {
        try await eventually { written.load(ordering: .relaxed) >= count }
    }

    /// Packs pages and gives back all free ones beside the others, again after so many transactions.
    private static func shrink(_ store: Store, turns: Int, each transactions: Int) async throws {
        for turn in 0..<turns {
            try await untilWritten(turn * transactions)
            try await untilThereIsSpace {
                _ = try await FileSpace(store).packPages()
                try await FileSpace(store).movePages()
                _ = try await FileSpace(store).releaseSpace(pagesPerRunMin: 1, reserve: 0)
            }
        }
    }

    /// Sees every operation once and in order, whoever wrote it.
    private static func observe(_ store: Store) async throws {
        var next: UInt64?
        for await changes in store.changes() {
            if let next, changes.sequences.lowerBound != next {
                fail("observed \(changes.sequences) where \(next) was due")
            }
            if !changes.deleted(Item.self).isEmpty, changes.updated(Item.self).isEmpty {
                fail("observed a part of a transaction: \(changes)")
            }
            next = changes.sequences.upperBound
        }
    }

    /// Sees whole transactions of a writer only, and never fewer than before.
    private static func read(_ writer: Int, in store: Store, turns: Int) async throws {
        var last = -1
        let query = Query<Item>().where(#Predicate { $0.writer == writer })
        for turn in 1..<turns + 1 {
            try await untilWritten(turn * transactionsPerRead)
            let items = try store.read { try $0.fetch(query) }
            guard let newest = items.map(\.transaction).max() else { continue }
            if newest < last { fail("writer \(writer) went back") }
            if items.count != 2 * newest + 3 { fail("writer \(writer) is there in part") }
            last = newest
        }
    }

    /// Says what is wrong, and ends the process.
    static func fail(_ message: String) -> Never {
        acknowledge("error \(message)\n")
        exit(1)
    }

    /// Every second transaction is written on the calling thread, if nothing else is under way.
    private static func write(_ transaction: Int, of writer: Int, to store: Store) async throws {
        if transaction % 2 == 0 {
            try await store.write { try change(transaction, of: writer, in: $0) }
        } else {
            try writeBlocking(transaction, of: writer, to: store)
        }
    }

    private static func writeBlocking(
        _ transaction: Int, of writer: Int, to store: Store
    ) throws {
        try store.write { try change(transaction, of: writer, in: $0) }
    }

    private static func change(
        _ transaction: Int, of writer: Int, in tx: borrowing WriteTransaction
    ) throws {
        for part in ["a", "b", "c"] {
            try tx.insert(
                Item(
                    id: .init("\(writer)-\(transaction)-\(part)"), writer: writer,
                    transaction: transaction, revision: 0))
        }
        guard transaction > 0 else { return }
        let before = "\(writer)-\(transaction - 1)-"
        try tx.update(
            Item(
                id: .init(before + "a"), writer: writer, transaction: transaction - 1,
                revision: transaction))
        try tx.delete(Item.ID(before + "b"))
    }

    /// One line in one call, so that lines of writers don't mix.
    static func acknowledge(_ line: String) {
        var line = line
        line.withUTF8 { _ = Glibc.write(1, $0.baseAddress, $0.count) }
    }
}
