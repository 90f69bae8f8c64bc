import BenchmarkKit
import Foundation
import PeerInterface

/// `backstitch-bench space`: how long the file of a store gets, and what it takes up on the disk.
enum SpaceCommand {
    static let name = "space"
    static let help = """
        space: contacts are inserted, all are updated, a tenth is deleted, a service takes everything,
        the store is compacted, and all that are left are updated again; 1,000 a transaction. Told are
        the time of each step, the bytes of all files after it, and the blocks that they have

          --records N      how many contacts; 100000 unless given
          --directory DIR  where the store is made; the current folder unless given
        """

    struct Options {
        var records = 100_000
        var directory: String?
    }

    static func options(_ arguments: inout Arguments) throws -> Options {
        var options = Options()
        while let word = arguments.next() {
            switch word {
            case "--records": options.records = try arguments.number(of: word, from: 10)
            case "--directory": options.directory = try arguments.value(of: word)
            default: throw Arguments.Mistake(description: "space does not know \(word).")
            }
        }
        return options
    }

    static func run(_ options: Options) async throws {
        let records = options.records
        let set = ContactSet(Dataset(records: records, saves: 0, seed: 1))
        let parent = options.directory ?? FileManager.default.currentDirectoryPath
        let path = parent + "/backstitch-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        let folder = Folder(path)
        defer { folder.remove() }
        let engine = try BackstitchEngine(path, set)
        var table = TextTable(["", "time", "files", "on the disk"])
        func step(_ name: String, _ body: () async throws -> Void) async rethrows {
            let start = peer_nanoseconds()
            try await body()
            let nanoseconds = Double(peer_nanoseconds() - start)
            table.add([
                name, Figures.text(nanoseconds, unit: "ns"),
                Figures.text(Double(folder.bytes), unit: "bytes"),
                Figures.text(Double(folder.allocatedBytes), unit: "bytes"),
            ])
        }
        func parts(_ numbers: Range<Int>) -> [Range<Int>] {
            EngineBenchmark.parts(numbers, of: 1_000)
        }
        try await step("insert") { for part in parts(0..<records) { try engine.insert(part) } }
        try await step("update") { for part in parts(0..<records) { try engine.update(part) } }
        try await step("delete") {
            for part in parts(0..<records / 10) { try engine.delete(part) }
        }
        try await step("push") { try await engine.push() }
        try await step("compact") { _ = try await engine.compactPushed() }
        try await step("update again") {
            for part in parts(records / 10..<records) { try engine.update(part, adding: 1) }
        }
        engine.close()
        for line in table.lines { print(line) }
    }
}
