import Foundation
import TestBudget
import Testing

@testable import LMDB

/// What is read of a snapshot in the map itself is what LMDB reads.
@Suite(.budgeted) struct SnapshotTreeTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    // MARK: The same as LMDB

    /// Keys of few and of many to a page, values with pages of their own among them, and several commits.
    @Test(arguments: Load.some(of: 0..<12, oneOf: 3))
    func `reads what LMDB reads`(seed: Int) throws {
        let environment = try fixture.open {
            $0.mapBytes = 1 << 22
            // Half of them are told to the system page by page.
            $0.memoryBytes = seed % 2 == 0 ? nil : 1
        }
        #expect(environment.core.map.exceedsMemory == (seed % 2 == 1))
        let database = try environment.database("one")
        var random = SeededGenerator(seed: UInt64(seed))
        var model: [[UInt8]: [UInt8]] = [:]
        let keyBytes = [3, 9, 17, 200, 511][seed % 5]
        for round in 0..<6 {
            var changes: [([UInt8], [UInt8]?)] = []
            for _ in 0..<(seed % 3 == 0 ? 40 : 700) {
                let key = Self.key(keyBytes, &random)
                let isDeleted = round > 1 && Int.random(in: 0..<3, using: &random) == 0
                let value = isDeleted ? nil : Self.value(&random)
                changes.append((key, value))
                model[key] = value
            }
            // Deletes of what is there, and in one round of nearly everything.
            for key in model.keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
            where Int.random(in: 0..<10, using: &random) < (round == 4 ? 9 : 1) {
                changes.append((key, nil))
                model[key] = nil
            }
            let all = changes
            try environment.save { access in
                for (key, value) in all {
                    if let value {
                        try access.put(key, value, in: database)
                    } else {
                        _ = try key.withUnsafeBytes { try access.delete($0, in: database) }
                    }
                }
            }
            // The second read looks up in the tree, the first asks LMDB.
            for _ in 0..<2 {
                try environment.read { transaction throws in
                    try Self.expect(model, transaction.access, database, keyBytes, &random)
                }
            }
        }
    }

    private static func expect(
        _ model: [[UInt8]: [UInt8]], _ access: Access, _ database: Database, _ keyBytes: Int,
        _ random: inout SeededGenerator
    ) throws {
        let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
        for key in sorted.shuffled(using: &random).prefix(100) {
            try #require(try value(of: key, access, database) == model[key])
        }
        for _ in 0..<100 {
            let key = key(keyBytes, &random)
            try #require(try value(of: key, access, database) == model[key])
        }
        for _ in 0..<30 {
            let told = (0..<Int.random(in: 0...16, using: &random)).map { _ in
                let isThere = Int.random(in: 0..<4, using: &random) > 0
                let known = isThere ? sorted.randomElement(using: &random) : nil
                return known ?? key(keyBytes, &random)
            }
            prefetch(told, access, database)
            let asked =
                switch Int.random(in: 0..<3, using: &random) {
                case 0: told
                case 1: told.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
                default: told.shuffled(using: &random) + [key(keyBytes, &random)]
                }
            for key in asked {
                let found = try key.withUnsafeBytes { key in
                    try access.get(key, in: database).map { Array($0) }
                }
                try #require(found == model[key])
            }
        }
        for _ in 0..<15 {
            let bounds = [key(keyBytes, &random), key(keyBytes, &random)]
                .sorted { $0.lexicographicallyPrecedes($1) }
            let isOpen = Int.random(in: 0..<4, using: &random)
            let first = isOpen == 0 ? [] : bounds[0]
            let end = isOpen == 1 ? nil : bounds[1]
            let countMax = Int.random(in: 1..<400, using: &random)
            let wanted = sorted.filter { key in
                !key.lexicographicallyPrecedes(first)
                    && end.map { key.lexicographicallyPrecedes($0) } ?? true
            }
            let found = try walk(access, database, from: first, to: end, countMax)
            try #require(found.map(\.key) == Array(wanted.prefix(countMax)))
            try #require(found.map(\.value) == wanted.prefix(countMax).map { model[$0] })
        }
    }

    private static func value(
        of key: [UInt8], _ access: Access, _ database: Database
    ) throws -> [UInt8]? {
        try key.withUnsafeBytes { key in try access.get(key, in: database).map { Array($0) } }
    }

    /// Tells keys whose bytes are gone when they are asked for.
    private static func prefetch(_ keys: [[UInt8]], _ access: Access, _ database: Database) {
        let copies = keys.map { key in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
            copy.copyBytes(from: key)
            return copy
        }
        access.prefetch(in: database, count: copies.count) { UnsafeRawBufferPointer(copies[$0]) }
        for copy in copies {
            copy.initializeMemory(as: UInt8.self, repeating: 0)
            copy.deallocate()
        }
    }

    private static func walk(
        _ access: Access, _ database: Database, from first: [UInt8], to end: [UInt8]?,
        _ countMax: Int
    ) throws -> [(key: [UInt8], value: [UInt8]?)] {
        var found: [(key: [UInt8], value: [UInt8]?)] = []
        var told: [[UInt8]] = []
        let goesOn = try first.withUnsafeBytes { first in
            try (end ?? []).withUnsafeBytes { bytes in
                try access.walk(
                    in: database, from: first, to: end == nil ? nil : bytes,
                    ahead: { count, key in told += (0..<count).map { Array(key($0)) } }
                ) { key, value in
                    found.append((Array(key), Array(value)))
                    return found.count < countMax
                }
            }
        }
        // A tree of nothing is left to LMDB.
        guard let goesOn else {
            try #require(try access.count(of: database) == 0)
            return []
        }
        try #require(goesOn == (found.count < countMax))
        // What is told is visited in the same order.
        let visited = found.map(\.key).filter(Set(told).contains)
        try #require(visited == Array(told.prefix(visited.count)))
        return found
    }

    private static func key(_ byteCount: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let count = max(1, byteCount - Int.random(in: 0..<3, using: &random))
        // Long beginnings that are the same, and keys that are the beginnings of others.
        return (0..<count).map { at in
            at + 3 < count && at > 0 ? 7 : UInt8.random(in: 0...255, using: &random)
        }
    }

    private static func value(_ random: inout SeededGenerator) -> [UInt8] {
        let counts = [0, 1, 30, 200, 1_000, 2_039, 2_040, 5_000, 20_000]
        let count = counts[Int.random(in: 0..<counts.count, using: &random)]
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    // MARK: Snapshots

    @Test func `a snapshot keeps its tree while others commit`() throws {
        let environment = try fixture.open()
        let database = try environment.database("one")
        try environment.save(["a": "1", "b": "1"])
        try environment.read { transaction throws in
            for number in 2..<6 {
                #expect(try transaction.access.value("a", in: database) == "1")
                let others = environment
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    try? others.save(["a": "\(number)", "c\(number)": "new"])
                    done.signal()
                }
                done.wait()
                #expect(try transaction.access.value("a", in: database) == "1")
                #expect(try transaction.access.value("c\(number)", in: database) == nil)
            }
        }
        #expect(try environment.entries()["a"] == "5")
        for _ in 0..<3 {
            try environment.read { transaction throws in
                #expect(try transaction.access.value("a", in: database) == "5")
            }
        }
    }

    @Test func `what was looked up ahead is of its database and its commit`() throws {
        let environment = try fixture.open()
        let (one, two) = (try environment.database("one"), try environment.database("two"))
        let keys = (0..<9).map { Array("key \($0)".utf8) }
        for round in 0..<3 {
            try environment.save { access in
                for number in 0..<9 {
                    try access.put("key \(number)", "one \(round)", in: one)
                    try access.put("key \(number)", "two \(round)", in: two)
                }
            }
            for _ in 0..<2 {
                try environment.read { transaction throws in
                    let access = transaction.access
                    // Some of them the round before left.
                    for number in round == 0 ? 0..<0 : 3..<9 {
                        #expect(try access.value("key \(number)", in: one) == "one \(round)")
                    }
                    Self.prefetch(keys, access, one)
                    for number in 0..<3 {
                        #expect(try access.value("key \(number)", in: two) == "two \(round)")
                        #expect(try access.value("key \(number)", in: one) == "one \(round)")
                    }
                }
            }
        }
    }

    @Test func `a map that moves is found again`() throws {
        let environment = try fixture.open { $0.mapBytes = 1 << 16 }
        let database = try environment.database("one")
        var blocker: [UnsafeMutableRawPointer] = []
        defer { for pointer in blocker { munmap(pointer, 1 << 20) } }
        for round in 0..<7 {
            try environment.save { access in
                for number in 0..<(60 << round) {
                    try access.put("\(round)-\(number)", "\(number)", in: database)
                }
            }
            // What stands behind the map makes it move as it grows.
            let mapped = mmap(
                nil, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            if let mapped, mapped != MAP_FAILED { blocker.append(mapped) }
            for _ in 0..<3 {
                try environment.read { transaction throws in
                    for number in stride(from: 0, to: 60 << round, by: 17) {
                        let value = try transaction.access.value("\(round)-\(number)", in: database)
                        #expect(value == "\(number)")
                    }
                }
            }
        }
    }

    @Test func `a cancelled walk ends`() async throws {
        let environment = try fixture.open()
        let database = try environment.database("one")
        try environment.save { access in
            for number in 0..<2_000 { try access.put("\(number)", "", in: database) }
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try environment.read(interruption: ReadInterruption()) { transaction throws in
                var count = 0
                _ = try Self.walk(transaction.access, database, from: [], to: nil, .max)
                count += 1
                return count
            }
        }
        await #expect(throws: LMDBError.self) { try await task.value }
    }

    // MARK: Damage

    /// Pages with any bytes are refused or give an answer; nothing outside of them is read.
    @Test(arguments: 0..<12)
    func `damaged pages are refused`(seed: Int) throws {
        let environment = try fixture.open()
        let database = try environment.database("one")
        var random = SeededGenerator(seed: UInt64(seed))
        try environment.save { access in
            var random = SeededGenerator(seed: 1)
            for number in 0..<4_000 {
                try access.put(
                    Array("\(number)".utf8), number % 50 == 0 ? Self.value(&random) : [1, 2],
                    in: database)
            }
        }
        let file = try Array(Data(contentsOf: URL(fileURLWithPath: fixture.dataPath)))
        let path = fixture.dataPath
        let meta = try MetaPages.newest(path)
        let byteCount = file.count / 4_096 * 4_096
        // A page behind the map that can't be read, so that reading there ends the test.
        let place = mmap(
            nil, byteCount + 4_096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let map = try #require(place)
        try #require(map != MAP_FAILED)
        defer { munmap(map, byteCount + 4_096) }
        mprotect(map + byteCount, 4_096, PROT_NONE)
        for _ in 0..<8 {
            map.copyMemory(from: file, byteCount: byteCount)
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                // Mostly in headers of pages, where numbers and flags are.
                let page = Int.random(in: 2..<byteCount / 4_096, using: &random)
                let offset = Int.random(
                    in: 0..<[16, 64, 4_096][Int.random(in: 0..<3, using: &random)],
                    using: &random)
                (map + page * 4_096 + offset).storeBytes(
                    of: UInt8.random(in: 0...255, using: &random), as: UInt8.self)
            }
            let tree = SnapshotTree(
                map: map, pageBytes: 4_096, pageCount: UInt64(byteCount / 4_096),
                root: UInt64(meta.root), depth: meta.depth, isTold: seed % 2 == 1)
            let bounds = UInt(bitPattern: map)...UInt(bitPattern: map + byteCount)
            func check(_ bytes: UnsafeRawBufferPointer) {
                guard let start = bytes.baseAddress else { return }
                #expect(bounds.contains(UInt(bitPattern: start)))
                #expect(bounds.contains(UInt(bitPattern: start + bytes.count)))
            }
            for number in stride(from: 0, to: 4_000, by: 7) {
                Array("\(number)".utf8).withUnsafeBytes { key in
                    tree.find(2, { _ in key }) {
                        check($0)
                        check($1)
                    }
                    if case .value(let value) = tree.find(key) { check(value) }
                }
            }
            let failure = LMDBError(.damaged, "A page is damaged.")
            var count = 0
            do {
                let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
                _ = try tree.visit(from: nothing, to: nil, ahead: nil, failed: { failure }) {
                    check($0)
                    check($1)
                    count += 1
                    return count < 20_000
                }
            } catch let error as LMDBError {
                #expect(error == failure)
            }
        }
    }

    /// The root of database `one` in the newest meta page of a file.
    private enum MetaPages {
        static func newest(_ path: String) throws -> (root: Int, depth: Int) {
            let descriptor = open(path, O_RDONLY)
            defer { close(descriptor) }
            let file = DataFile(descriptor: descriptor, path: path)
            let meta = try file.newestMeta()
            var walk = PageWalk(
                file: file, meta: meta, pageCount: try file.byteCount() / meta.pageBytes)
            let tree = try #require(try walk.tree(named: "one"))
            return (try #require(tree.root), tree.depth)
        }
    }
}

extension Access {
    fileprivate func value(_ key: String, in database: Database) throws -> String? {
        try Array(key.utf8).withUnsafeBytes { key in
            try get(key, in: database).map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
