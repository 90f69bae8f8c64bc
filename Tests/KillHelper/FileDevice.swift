import Backstitch
import CloudKitRecordService
import Foundation
import Waiting

/// A device that exchanges files with a hub: it adds files and saves records that hold them, opens those of
/// others, evicts, compacts and collects. It prints each record that the hub has.
///
/// Of four records in a row the second is deleted again. What is here of files goes to the hub in small parts, so
/// that a kill comes in the middle of one.
struct FileDevice {
    private let store: Store
    private let engine: SyncEngine
    private let writer: Int
    private let acknowledge: @Sendable (String) -> Void

    /// - Parameter hub: Its address, container and token, and the token of the user.
    init(
        _ path: String, number: Int, hub: [String],
        acknowledge: @escaping @Sendable (String) -> Void
    ) throws {
        guard hub.count == 4, let url = URL(string: hub[0]) else { throw URLError(.badURL) }
        store = try Store(at: URL(filePath: path), schema: StoreSchema(FileItem.self))
        var configuration = CloudKitConfiguration(
            url: url, container: hub[1],
            credentials: .user(apiToken: hub[2], webAuthToken: WebAuthToken(hub[3])))
        configuration.uploadPartBytes = 16 << 10
        engine = SyncEngine(
            store: store, service: try CloudKitRecordService(configuration),
            configuration: SyncConfiguration(
                zoneName: "files", conflictPolicy: .clientWins, syncOnSave: false))
        writer = number
        self.acknowledge = acknowledge
    }

    /// - Parameter most: How many records it saves. After the last one it exchanges until the hub has all.
    func run(_ most: Int) async throws {
        let writer = writer
        let mine = Query<FileItem>().where(#Predicate { $0.writer == writer })
        var number = (try store.read { try $0.fetch(mine).map(\.number).max() } ?? -1) + 1
        let end = number + most
        var (opened, told, synced) = (0, 0, number)
        while number < end {
            try await save(number)
            number += 1
            // A few records wait while the hub is away.
            let mayWait = number < end && number - synced < 8
            try await eventually(pausing: .milliseconds(20)) {
                let isDone = await hasSynced()
                if isDone { synced = number }
                return isDone || mayWait
            }
            if synced == number {
                for done in told..<number { acknowledge("\(writer) \(done)\n") }
                told = number
            }
            opened += await openOthers(from: opened)
            if number % 5 == 0 {
                _ = try await store.assets.evict(downTo: 0)
                _ = try await store.compact(.keepUnsyncedOnly)
                _ = try await store.assets.collect(addedBefore: .distantFuture)
            }
        }
        withExtendedLifetime(engine) { KillHelper.idle() }
    }

    private func save(_ number: Int) async throws {
        if number % 3 == 0 { _ = try await add(number, suffix: "abandoned") }
        try await store.save(
            FileItem(
                id: .init("\(writer)-\(number)"), writer: writer, number: number,
                file: try await add(number, suffix: "")))
        if number % 4 == 3 { try await store.delete(FileItem.ID("\(writer)-\(number - 2)")) }
    }

    private func hasSynced() async -> Bool {
        do {
            let report = try await engine.sync()
            return report.recordsWaitingForFiles == 0
        } catch {
            // The hub was killed; it comes again.
            return false
        }
    }

    /// Opens some of the records, each in its turn.
    private func openOthers(from first: Int) async -> Int {
        let items = (try? store.read { try $0.fetch(FileItem.self) }) ?? []
        guard !items.isEmpty else { return 0 }
        for place in first..<first + 3 {
            // It may be gone, or the hub be killed.
            _ = try? await store.assets.open(items[place % items.count].file)
        }
        return 3
    }

    private func add(_ number: Int, suffix: String) async throws -> Asset {
        try await store.assets.add { file in
            for part in FileItem.parts(writer: writer, number: number, suffix: suffix) {
                try file.write(part)
            }
        }
    }
}

extension FileItem {
    /// A content that tells who made it; the same of all writers for every seventh number.
    static func parts(writer: Int, number: Int, suffix: String) -> [Data] {
        let owner = number % 7 == 0 ? "all" : "\(writer)"
        let line = Data("\(owner) \(number) \(suffix)\n".utf8)
        let part = Data((0..<256).flatMap { _ in line })
        return Array(repeating: part, count: 1 + number * 11 % 30)
    }
}
