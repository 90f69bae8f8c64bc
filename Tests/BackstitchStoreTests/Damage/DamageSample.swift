import Backstitch
import BackstitchSync
import BackstitchCore
import Foundation
import LMDB
import Testing
import XXHash

@testable import BackstitchStore

/// A store with whatever a store can have, and its files before and after the last part of its
/// history.
struct DamageSample {
    let older: StoreFiles
    let files: StoreFiles
    let content: [String: Store.Entries]
    /// The pages of the file on which each operation stands, small ones only.
    let pages: [UInt64: Set<Int>]

    init(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let history = try CompactionHistory(seed: seed, at: folder.store)
        let store = history.store
        defer { store.close() }
        try await history.run(3)
        try await store.pull("Newer", "n", ["field": .list([.string("kept")])])
        try await history.settle()
        _ = try await StoreCompaction(store, operationsPerChunk: 100).run(
            through: try store.head / 2)
        older = try StoreFiles(at: folder.store)
        try await store.write { transaction in
            var everything = Everything(id: "large")
            everything.data = Data(repeating: 7, count: 9_000)
            try transaction.save(everything)
        }
        try await store.withLogWriter { context in
            var state = ZoneState()
            state.isSetUp = true
            state.zoneToken = "token"
            state.userName = "user"
            state.needsPull = false
            try context.setZoneState(state, "Notes")
        }
        try await history.run(2)
        // In a run of commits the last ones are in the journal.
        for number in 0..<200 {
            let before = try StoreFiles(at: folder.store)
            try await store.write { _ = try $0.save(Node(id: .init("node\(number % 40)"))) }
            // The data file is as it was.
            if number >= 20, try StoreFiles(at: folder.store).data == before.data { break }
        }
        // Not while records are applied to it.
        var files = try StoreFiles(at: folder.store)
        while case let next = try StoreFiles(at: folder.store),
            next.data != files.data || next.journal != files.journal
        { files = next }
        files.used = try files.usedPages()
        self.files = files
        content = try store.content()
        pages = Self.pages(of: content["log"] ?? [], in: files.data)
    }

    private static func pages(of log: Store.Entries, in data: Data) -> [UInt64: Set<Int>] {
        var pages: [UInt64: Set<Int>] = [:]
        for (key, value) in log where value.count < 1_000 {
            let sequence = key.withUnsafeBytes { $0.sequence }
            var start = data.startIndex
            while let found = data.range(of: Data(key + value), in: start..<data.endIndex) {
                let page = found.lowerBound / StoreFiles.pageBytes
                if found.lowerBound >= Self.entriesStart(of: page, in: data) {
                    pages[sequence, default: []].insert(page)
                }
                start = found.upperBound
            }
        }
        return pages
    }

    /// Where the entries of a page of LMDB begin. Bytes before them are left of what was deleted or moved,
    /// and say nothing.
    private static func entriesStart(of page: Int, in data: Data) -> Int {
        let start = page * StoreFiles.pageBytes
        return start + Int(data[start + 14]) + Int(data[start + 15]) << 8
    }

    /// The operations that stand on a page that is as it was.
    func intact(in damaged: Data) -> Set<UInt64> {
        let count = StoreFiles.pageBytes
        let same = (0..<damaged.count / count).filter { page in
            guard (page + 1) * count <= files.data.count else { return false }
            return damaged.part(page * count, count) == files.data.part(page * count, count)
        }
        let pages = Set(same)
        return Set(self.pages.filter { !$0.value.isDisjoint(with: pages) }.keys)
    }
}

extension StoreFiles {
    /// The pages without which the file is not sound.
    func usedPages() throws -> [Int] {
        let folder = try TemporaryFolder()
        try write(to: folder.store)
        let handle = try #require(FileHandle(forUpdatingAtPath: folder.dataPath))
        defer { try? handle.close() }
        func put(_ bytes: Data, at page: Int) throws {
            try handle.seek(toOffset: UInt64(page * Self.pageBytes))
            try handle.write(contentsOf: bytes)
        }
        var used: [Int] = []
        for page in 2..<data.count / Self.pageBytes {
            try put(Data(count: Self.pageBytes), at: page)
            let found = try EnvironmentFiles(at: folder.store).inspect(
                names: Databases.names, family: Databases.rows
            ) { _ in }
            if !found.isSound { used.append(page) }
            try put(data.part(page * Self.pageBytes, Self.pageBytes), at: page)
        }
        return used
    }

    /// Where the journal has the records that wait, but for the last one: without that, a power cut
    /// may have come before it was on disk.
    var records: Range<Int> {
        guard let journal else { return 8_192..<8_192 }
        let pages = stride(from: 8_192, to: journal.count, by: Self.pageBytes).prefix {
            journal.part($0, 8) != Data(count: 8)
        }
        return 8_192..<max(8_192, pages.last ?? 0)
    }

    /// The files after a restart of the system, so that what processes told each other is void.
    var restarted: StoreFiles {
        var files = self
        files.journal?[4_096] ^= 1
        return files
    }
}
