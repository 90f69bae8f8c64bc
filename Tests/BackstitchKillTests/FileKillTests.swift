import Backstitch
import BackstitchStore
import Foundation
import TestBudget
import Testing

@Entity private struct FileItem {
    var id = ID()
    var writer: Int
    var number: Int
    var file: Asset
}

/// Processes that add, save and collect files in one store are killed again and again.
///
/// `FILE_KILLS` says how often; 6 unless given.
@Suite(.budgeted, .serialized) struct FileKillTests {
    @Test func `a saved record has its file, whoever is killed in the middle of a collection`()
        async throws
    {
        let kills = Load.count("FILE_KILLS", else: 6)
        let root = FileManager.default.temporaryDirectory.path + "/files-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let path = root + "/store"
        func start(_ number: Int) throws -> Helper {
            try Helper(path, firstWriter: number, mode: "files", most: 20)
        }
        var processes = try (0..<2).map(start)
        var acknowledged: [Int: Int] = [:]
        func note(_ lines: [(writer: Int, transaction: Int)]) {
            for (writer, number) in lines {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, number)
            }
        }
        var state: UInt64 = 11
        for kill in 0..<kills {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let process = processes[kill % 2]
            // Each gets somewhere, so that kills come at any step and not only at the start.
            try await process.waitForLines(Int(state >> 33) % 6)
            note(try process.kill(afterMicroseconds: UInt32(state >> 40) % 20_000))
            processes[kill % 2] = try start(kill % 2)
        }
        for process in processes { note(try process.kill()) }
        #expect(!acknowledged.isEmpty)
        try await check(path, acknowledged)
    }

    private func check(_ path: String, _ acknowledged: [Int: Int]) async throws {
        let store = try Store(at: URL(filePath: path), schema: StoreSchema(FileItem.self))
        defer { store.close() }
        let items = try store.read { try $0.fetch(FileItem.self) }
        for (writer, last) in acknowledged {
            let mine = items.filter { $0.writer == writer }.map(\.number)
            #expect(Set(mine).isSuperset(of: 0...last), "writer \(writer)")
        }
        for item in items {
            let owner = item.number % 7 == 0 ? "all" : "\(item.writer)"
            let line = "\(owner) \(item.number) \n"
            let expected = String(repeating: line, count: 1 + item.number % 50)
            let reader = try await store.assets.open(item.file)
            let data = try reader.read(at: 0, count: Int(reader.byteCount))
            #expect(String(decoding: data, as: UTF8.self) == expected)
        }
        let report = try await store.assets.verify()
        #expect(report.isConsistent)
        try await store.assets.collect(addedBefore: .distantFuture)
        let incoming = try? FileManager.default.contentsOfDirectory(
            atPath: path + "/blobs/incoming")
        #expect(incoming?.isEmpty == true)
        let after = try await store.assets.verify()
        #expect(after.orphans == 0 && after.isConsistent)
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }
}
