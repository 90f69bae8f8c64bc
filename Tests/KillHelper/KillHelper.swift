import Backstitch
import BackstitchStore
import Foundation
import Glibc

/// Writes transactions until it is killed, and prints each that was acknowledged.
///
/// Transaction t of writer w inserts w-t-a, w-t-b and w-t-c, updates w-(t-1)-a and deletes
/// w-(t-1)-b: five operations, but for the first one's three. It goes on where the store ends.
///
/// Its arguments are the path of the store and the number of its first writer. With a third one,
/// `shared`, it shares the store: it also reads and observes, and ends with an error if what it sees
/// can't be. With `relaxed` it does so too, and its commits are not synced. With `plain` instead it does
/// not keep the views up; with `files` it writes files, see ``FileWriter``; with `transfer` it exchanges
/// them with a hub, which four more arguments tell, see ``FileDevice``; with `migrate` it makes data
/// migrations, see ``Migrations``.
@main struct KillHelper {
    static let writers = 4

    static func main() async throws {
        let arguments = CommandLine.arguments
        let first = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
        let mode = arguments.count > 3 ? arguments[3] : ""
        if mode == "files" {
            return try await FileWriter(arguments[1], number: first) { acknowledge($0) }.run()
        }
        if mode == "transfer" {
            let hub = Array(arguments.dropFirst(4))
            return try await FileDevice(arguments[1], number: first, hub: hub) { acknowledge($0) }
                .run()
        }
        if mode == "migrate" { return try await Migrations.make(in: arguments[1]) }
        let isSharing = mode == "shared" || mode == "relaxed"
        var configuration = mode == "plain" ? StoreConfiguration() : Views.configuration
        if mode == "relaxed" { configuration.durability = .relaxed }
        let store = try Store(
            at: arguments[1], schema: StoreSchema(Item.self), configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in first..<first + (isSharing ? 2 : writers) {
                group.addTask { try await goOn(writing: writer, to: store) }
            }
            group.addTask { try await shrink(store) }
            if isSharing {
                group.addTask { try await observe(store) }
                for writer in 0..<8 { group.addTask { try await read(writer, in: store) } }
            }
            try await group.waitForAll()
        }
    }

    private static func goOn(writing writer: Int, to store: Store) async throws {
        let mine = Query<Item>().where(#Predicate { $0.writer == writer })
        let known = try store.read { try $0.fetch(mine).map(\.transaction).max() }
        var transaction = (known ?? -1) + 1
        while true {
            let next = transaction
            try await untilThereIsSpace { try await write(next, of: writer, to: store) }
            acknowledge("\(writer) \(transaction)\n")
            transaction += 1
        }
    }

    /// Tries again while the disk is full. Nothing but writes may find that out.
    private static func untilThereIsSpace(_ body: () async throws -> Void) async throws {
        while true {
            do {
                return try await body()
            } catch let error as StoreError where error.code == .full {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    /// Packs pages and gives back all free ones, again and again, beside the others.
    private static func shrink(_ store: Store) async throws {
        while true {
            try await untilThereIsSpace {
                _ = try await FileSpace(store).packPages()
                try await FileSpace(store).movePages()
                _ = try await FileSpace(store).releaseSpace(pagesPerRunMin: 1, reserve: 0)
            }
            try await Task.sleep(for: .milliseconds(5))
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
    private static func read(_ writer: Int, in store: Store) async throws {
        var last = -1
        let query = Query<Item>().where(#Predicate { $0.writer == writer })
        while true {
            try await Task.sleep(for: .milliseconds(50))
            let items = try store.read { try $0.fetch(query) }
            guard let newest = items.map(\.transaction).max() else { continue }
            if newest < last { fail("writer \(writer) went back") }
            if items.count != 2 * newest + 3 { fail("writer \(writer) is there in part") }
            last = newest
        }
    }

    private static func fail(_ message: String) -> Never {
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
