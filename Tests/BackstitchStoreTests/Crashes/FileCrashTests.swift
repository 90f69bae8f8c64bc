import Backstitch
import BackstitchCore
import BackstitchLog
import CrashStates
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Entity private struct Paper {
    var id = ID()
    var number: Int
    var file: Asset?
}

/// Power cuts, kills and failing calls at each step that a store takes with files: whatever is left, no record
/// holds a file whose content is gone. One after the other, because they share the recorder and the counter.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct FileCrashTests {
    private let folder: TemporaryFolder
    private let place: String
    private static let schema = StoreSchema(Paper.self)
    private static let names = ["data.mdb", "journal"]

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        place = URL(fileURLWithPath: folder.root).resolvingSymlinksInPath().path + "/store"
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        Array("content \(number) ".utf8) + [UInt8](repeating: UInt8(number), count: 5_000)
    }

    private func open(_ path: String) throws -> Store {
        try Store(
            at: path, schema: Self.schema, configuration: StoreConfiguration(bytesMax: 1 << 26))
    }

    /// Adds, replaces and shares files, deletes records, compacts and collects.
    private static func work(_ store: Store) async throws {
        func add(_ number: Int) async throws -> Asset {
            try await store.assets.add { file in
                let bytes = bytes(number)
                try file.write(Array(bytes[..<3_000]))
                try file.write(Array(bytes[3_000...]))
            }
        }
        let first = try await add(1)
        try await store.save(Paper(id: "one", number: 1, file: first))
        try await store.save(Paper(id: "two", number: 2, file: first))
        _ = try await add(2)
        try await store.save(Paper(id: "one", number: 1, file: try await add(3)))
        try await store.delete(Paper.ID("two"))
        try await store.assets.collect(addedBefore: .distantFuture)
        try await store.compact(through: .max)
        try await store.assets.collect(addedBefore: .distantFuture)
        // One that was collected comes again.
        try await store.save(Paper(id: "three", number: 3, file: try await add(2)))
        try await store.save(Paper(id: "one", number: 1, file: try await add(1)))
    }

    // MARK: Power cuts and kills

    @Test func `no power cut leaves a record without its file`() async throws {
        try open(place).close()
        let store = try open(place)
        let recorder = Recorder(of: place, names: Self.names)
        let (result, _, calls) = await FaultedCalls.run(in: place, from: .max >> 32, times: 0, EIO)
        {
            await Result<Void, any Error>.of { try await Self.work(store) }
        }
        let recording = recorder.end()
        store.close()
        try result.get()
        #expect(calls.contains { $0.hasPrefix("link /blobs/") })
        #expect(calls.contains { $0.hasPrefix("unlink /blobs/") })
        var random = SeededGenerator(seed: 24)
        var states = 0
        for count in 0...calls.count {
            let files = FileStates(calls[..<count])
            let event = min(files.eventCount, recording.events.count - 1)
            let cut = recording.powerCut(at: event, using: &random)
            try await check(cut, files.afterPowerCut, isPowerCut: true, "a cut at call \(count)")
            let killed = recording.kill(at: event).diedInCommit
            try await check(killed, files.afterKill, isPowerCut: false, "a kill at call \(count)")
            states += 2
        }
        #expect(FileStates(calls[...]).eventCount == recording.events.count, "both tell the same")
        #expect(states > 100)
    }

    private func check(
        _ image: FolderImage, _ files: [String: Bool], isPowerCut: Bool, _ story: String
    ) async throws {
        let path = folder.root + "/crashed"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        for (file, isWhole) in files {
            let target = path + "/blobs/" + file
            try FileManager.default.createDirectory(
                atPath: (target as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
            let content = (1...3).map(Self.bytes).first {
                file.hasSuffix(SHA256.hexadecimal(of: $0))
            }
            try Data(isWhole ? content ?? [] : []).write(to: URL(fileURLWithPath: target))
        }
        if isPowerCut {
            var options = EnvironmentOptions.store
            options.boot = BootID(testing: 99)
            try Environment.open(at: path, options: options).close()
        }
        let store = try open(path)
        defer { store.close() }
        try await expectFiles(in: store, story)
        #expect(try store.verify().isConsistent, "\(story)")
    }

    /// Every record has its file; nothing is left once it was collected; and the store goes on.
    private func expectFiles(in store: Store, _ story: String) async throws {
        for paper in try store.read({ try $0.fetch(Paper.self) }) {
            let file = try #require(paper.file)
            let reader = try await store.assets.open(file)
            let data = try reader.read(at: 0, count: Int(reader.byteCount))
            #expect(SHA256.hexadecimal(of: Array(data)) == file.content, "\(story)")
        }
        try await store.assets.collect(addedBefore: .distantFuture)
        let report = try await store.assets.verify()
        #expect(report.isConsistent && report.orphans == 0, "\(story): \(report)")
        #expect(store.assets.folder.incomingCount == 0, "\(story)")
    }

    // MARK: Failing calls

    @Test(arguments: [(1, EIO), (Int.max >> 32, ENOSPC)])
    func `whichever call fails, records have their files, and the work can be done again`(
        times: Int, reason: Int32
    ) async throws {
        var (number, failed) = (0, 1)
        while failed > 0 {
            try? FileManager.default.removeItem(atPath: place)
            let store = try open(place)
            let story = "call \(number), \(times) fail with \(reason)"
            let outcome = await FaultedCalls.run(in: place, from: number, times: times, reason) {
                await Result<Void, any Error>.of { try await Self.work(store) }
            }
            failed = outcome.failed
            if case .failure(let error) = outcome.result {
                #expect(failed > 0 && error is StoreError, "\(story): \(error)")
            }
            store.close()
            let again = try open(place)
            try await expectFiles(in: again, story)
            try await Self.work(again)
            try await expectFiles(in: again, story)
            again.close()
            // Each twelfth and its neighbour: all of them take minutes.
            number += number % 12 == 1 ? 11 : 1
        }
        #expect(number > 50)
    }
}

extension Result where Success == Void, Failure == any Error {
    fileprivate static func of(_ body: () async throws -> Void) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

/// What a disk has of the files after some calls, which are told by name and path.
private struct FileStates {
    /// How many events a recorder of the database has for the calls.
    private(set) var eventCount = 0
    /// Every file by its path in `blobs`, and whether its bytes are on disk.
    private var files: [String: Bool] = [:]
    /// The folders and files whose names are on disk.
    private var durable: Set<String> = []
    private var folders: Set<String> = []

    init(_ calls: ArraySlice<String>) {
        for call in calls {
            let words = call.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { continue }
            take(words[0], words[1])
        }
    }

    private mutating func take(_ call: String, _ path: String) {
        if path == "/data.mdb" || path == "/journal" {
            switch call {
            case "write", "punch": eventCount += 1
            case "sync": eventCount += 2
            default: break
            }
            return
        }
        guard path.hasPrefix("/blobs") else {
            if call == "sync", path.isEmpty || path == "/" { noteSynced("") }
            return
        }
        let name = String(path.dropFirst("/blobs".count).drop { $0 == "/" })
        switch call {
        case "write": files[name] = false
        case "sync":
            if files[name] != nil { files[name] = true } else { noteSynced("blobs/" + name) }
        case "mkdir": folders.insert(name)
        case "link":
            // What gets another name is what was written last in 'incoming'.
            guard files[name] == nil,
                let source = files.keys.first(where: { $0.hasPrefix("incoming/") })
            else { return }
            files[name] = files[source]
        case "unlink":
            files[name] = nil
            durable.remove(name)
        default: break
        }
    }

    /// A folder is synced: the names in it are on disk.
    private mutating func noteSynced(_ folder: String) {
        let prefix = folder == "blobs/" ? "" : String(folder.dropFirst("blobs/".count)) + "/"
        for name in files.keys where Self.parent(name) + "/" == prefix || prefix.isEmpty {
            if Self.parent(name) + "/" == prefix { durable.insert(name) }
        }
        guard folder == "blobs/" else { return }
        for name in folders where !name.isEmpty { durable.insert(name) }
    }

    private static func parent(_ name: String) -> String {
        (name as NSString).deletingLastPathComponent
    }

    /// What is there after a power cut at the worst: names that were not synced are lost, and so are bytes;
    /// files that were removed are gone.
    var afterPowerCut: [String: Bool] {
        files.filter { durable.contains($0.key) && durable.contains(Self.parent($0.key)) }
    }

    var afterKill: [String: Bool] { files.mapValues { _ in true } }
}
