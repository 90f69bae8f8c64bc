import CFaults
import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct DataFileTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// A store folder with the given contents of the data file.
    private func folder(_ name: String, _ contents: [UInt8]) throws -> String {
        let path = fixture.root + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(contents).write(to: URL(fileURLWithPath: path + "/data.mdb"))
        return path
    }

    private func opening(_ path: String) -> LMDBError.Code? {
        code { _ = try Environment.open(at: path, options: Fixture.options()).entries() }
    }

    /// Fills both databases so that they have branch pages, leaves and overflow pages.
    private func makeStore() throws -> (file: [UInt8], entries: [String: String]) {
        let environment = try fixture.open()
        let two = try environment.database("two")
        for part in 0..<4 {
            try environment.save(
                Dictionary(
                    uniqueKeysWithValues: (0..<100).map { index in
                        let bytes = index % 20 == 0 ? 9000 : 100 + index
                        return ("key\(part)-\(index)", String(repeating: "x", count: bytes))
                    }))
            try environment.save { access in
                for index in 0..<100 { try access.put("\(part)-\(index)", "y", in: two) }
            }
        }
        let entries = try environment.entries()
        environment.close()
        return (try bytes(fixture.dataPath), entries)
    }

    @Test func `an environment that was created is complete`() throws {
        let environment = try fixture.open()
        environment.close()
        try EnvironmentFiles(at: fixture.store).verify()
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["store"])
    }

    @Test func `a file of another program is refused`() throws {
        let text = try folder("text", Array("Dear diary, ".utf8))
        #expect(opening(text) == .foreignFile)
        let long = try folder("long", [UInt8](repeating: 0x20, count: 100_000))
        #expect(opening(long) == .foreignFile)
        let zeros = try folder("zeros", [UInt8](repeating: 0, count: 100_000))
        #expect(opening(zeros) == .foreignFile)
    }

    @Test func `an empty file is refused and stays as it is`() throws {
        let path = try folder("empty", [])
        #expect(opening(path) == .truncated)
        #expect(try bytes(path + "/data.mdb").isEmpty)
    }

    @Test func `another format version is refused`() throws {
        var (file, _) = try makeStore()
        file[16 + 4] = 2
        #expect(opening(try folder("version", file)) == .versionMismatch)
    }

    @Test func `an environment with other databases is refused`() throws {
        let environment = try fixture.open()
        environment.close()
        let other = Fixture.options {
            $0.databases = ["three"]
            $0.isReadOnly = true
        }
        #expect(
            code { _ = try Environment.open(at: fixture.store, options: other) } == .foreignFile)
    }

    @Test func `a file cut off anywhere is refused or gives the right data`() throws {
        let (file, entries) = try makeStore()
        var lengths = Array(stride(from: 0, to: file.count, by: 4096))
        lengths += [1, 15, 16, 20, 151, 152, 4095, 4097, 4096 + 151, 8193, file.count - 1]
        lengths += stride(from: 9001, to: file.count, by: 7919)
        var refused = 0
        for length in lengths {
            let path = try folder("cut\(length)", Array(file.prefix(length)))
            do {
                let environment = try Environment.open(at: path, options: Fixture.options())
                #expect(try environment.entries() == entries, "\(length) bytes")
                try environment.save(["new": "1"])
            } catch let error as LMDBError {
                refused += 1
                let codes: [LMDBError.Code] = [.truncated, .foreignFile]
                #expect(codes.contains(error.code), "\(length) bytes: \(error)")
            }
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(refused > lengths.count / 2)
    }

    @Test func `a short file is healthy if only free pages are missing`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        let before = try bytes(fixture.dataPath).count
        let database = try environment.database("one")
        try environment.save {
            try $0.put([1], [UInt8](repeating: 1, count: 400_000), in: database)
        }
        try environment.save { _ = try $0.delete([1], in: database) }
        // The pages in use move to the free ones in front.
        for _ in 0..<6 { try environment.save(["a": "1"]) }
        environment.close()
        let file = try bytes(fixture.dataPath)
        #expect(file.count > before + 400_000)
        let path = try folder("short", Array(file.prefix(file.count - 330_000)))
        let short = try Environment.open(at: path, options: Fixture.options())
        #expect(try short.entries() == ["a": "1"])
        try short.save(["b": String(repeating: "x", count: 500_000)])
        #expect(try short.entries().count == 2)
        short.close()
        try EnvironmentFiles(at: path).verify()
    }

    @Test(arguments: 0..<10)
    func `a check of damaged pages never crashes`(seed: Int) throws {
        let (file, _) = try makeStore()
        var random = SeededGenerator(seed: UInt64(seed))
        var found = 0
        for _ in 0..<20 {
            var damaged = file
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                // Mostly in the first bytes of a page, where its structure is.
                let page = Int.random(in: 0..<file.count / 4096, using: &random) * 4096
                let offset = Int.random(
                    in: 0..<(Bool.random(using: &random) ? 64 : 4096), using: &random)
                damaged[page + offset] = UInt8.random(in: 0...255, using: &random)
            }
            let path = try folder("damaged", damaged)
            if code({ try EnvironmentFiles(at: path).verify() }) != nil { found += 1 }
        }
        #expect(found > 0)
    }

    @Test func `verifying an open environment is refused`() throws {
        let environment = try fixture.open()
        #expect(code { try EnvironmentFiles(at: fixture.store).verify() } == .busy)
        environment.close()
        try EnvironmentFiles(at: fixture.store).verify()
    }

    @Test func `a damaged or empty lock file doesn't matter`() throws {
        var environment = try fixture.open()
        try environment.save(["a": "1"])
        environment.close()
        for contents in [Data(), Data(repeating: 7, count: 10_000), Data([1, 2, 3])] {
            try contents.write(to: URL(fileURLWithPath: fixture.store + "/lock.mdb"))
            environment = try fixture.open()
            #expect(try environment.entries() == ["a": "1"])
            environment.close()
        }
    }

    @Test func `a copy has the same entries, and fewer pages`() throws {
        let (_, entries) = try makeStore()
        let environment = try fixture.open()
        let copy = fixture.root + "/copy"
        try environment.copy(to: copy)
        #expect(code { try environment.copy(to: copy) } == .other)
        let copied = try Environment.open(at: copy, options: Fixture.options())
        #expect(try copied.entries() == entries)
        #expect(try copied.info.lastPage < environment.info.lastPage)
        try copied.save(["new": "1"])
        #expect(try environment.entries() == entries)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.root)
        #expect(names.sorted() == ["copy", "store"])
    }
}
