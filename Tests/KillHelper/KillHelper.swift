import Backstitch
import Foundation
import Glibc

/// Writes transactions until it is killed, and prints each that was acknowledged.
///
/// Transaction t of writer w inserts w-t-a, w-t-b and w-t-c, updates w-(t-1)-a and deletes
/// w-(t-1)-b: five operations, but for the first one's three. It goes on where the store ends.
@main struct KillHelper {
    static let writers = 4

    static func main() async throws {
        let store = try Store(at: CommandLine.arguments[1], schema: Schema(Item.self))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let mine = Query<Item>().where(#Predicate { $0.writer == writer })
                    let known = try store.read { try $0.fetch(mine).map(\.transaction).max() }
                    var transaction = (known ?? -1) + 1
                    while true {
                        try await write(transaction, of: writer, to: store)
                        acknowledge("\(writer) \(transaction)\n")
                        transaction += 1
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func write(_ transaction: Int, of writer: Int, to store: Store) async throws {
        try await store.write { tx in
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
    }

    /// One line in one call, so that lines of writers don't mix.
    private static func acknowledge(_ line: String) {
        var line = line
        line.withUTF8 { _ = Glibc.write(1, $0.baseAddress, $0.count) }
    }
}
