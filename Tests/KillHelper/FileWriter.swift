import Backstitch
import Foundation

/// A record with a file.
@Entity struct FileItem {
    var id = ID()
    var writer: Int
    var number: Int
    var file: Asset
}

/// Adds files and saves records that hold them, and collects what nothing names; prints each record that was
/// saved.
///
/// Every third file is held by no record, so that there is something to collect, also of other writers.
struct FileWriter {
    private let store: Store
    private let writer: Int
    private let acknowledge: @Sendable (String) -> Void

    init(
        _ path: String, number: Int, acknowledge: @escaping @Sendable (String) -> Void
    ) throws {
        store = try Store(at: URL(filePath: path), schema: StoreSchema(FileItem.self))
        writer = number
        self.acknowledge = acknowledge
    }

    /// - Parameter most: How many records it saves.
    func run(_ most: Int) async throws {
        let writer = writer
        let mine = Query<FileItem>().where(#Predicate { $0.writer == writer })
        let next = (try store.read { try $0.fetch(mine).map(\.number).max() } ?? -1) + 1
        for number in next..<next + most {
            if number % 3 == 0 { _ = try await add(number, suffix: "abandoned") }
            if number % 5 == 0 { _ = try await store.assets.collect(addedBefore: .distantFuture) }
            try await save(number)
            acknowledge("\(writer) \(number)\n")
        }
        withExtendedLifetime(store) { KillHelper.idle() }
    }

    /// Saves a record. Another process may collect its file before that, and then it is added again.
    private func save(_ number: Int) async throws {
        while true {
            let file = try await add(number, suffix: "")
            do {
                try await store.save(
                    FileItem(
                        id: .init("\(writer)-\(number)"), writer: writer, number: number,
                        file: file))
                return
            } catch let error as StoreError where error.code == .assetMissing {
                continue
            }
        }
    }

    /// A content that tells who wrote it; the same in two writers for every seventh number.
    private func add(_ number: Int, suffix: String) async throws -> Asset {
        let owner = number % 7 == 0 ? "all" : "\(writer)"
        let line = "\(owner) \(number) \(suffix)\n"
        return try await store.assets.add { file in
            for _ in 0..<(1 + number % 50) { try file.write(Data(line.utf8)) }
        }
    }
}
