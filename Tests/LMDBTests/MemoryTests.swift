import Foundation
import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct MemoryTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    /// What `/proc/self/smaps` says of the mapping that has a snapshot's pages (proc(5)).
    private func words(_ name: String, _ environment: Environment) throws -> [Substring] {
        let start = try environment.read { transaction in
            try transaction.access.withCursor(in: environment.database("one")) { cursor in
                _ = try cursor.next()
                let address = try #require(cursor.value.baseAddress)
                return try #require(MemoryMap.range(around: UInt(bitPattern: address)))
                    .baseAddress
            }
        }
        let first = String(UInt(bitPattern: start), radix: 16) + "-"
        // The system tells no size of this file, and Foundation would stop after its first part.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
        let lines = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
            .split(separator: "\n")
        let header = try #require(lines.firstIndex { $0.hasPrefix(first) })
        let line = try #require(lines[header...].first { $0.hasPrefix(name + ":") })
        return Array(line.split(separator: " ").dropFirst())
    }

    /// How much of the mapping is in memory, in kB.
    private func residentKilobytes(_ environment: Environment) throws -> Int {
        try #require(Int(words("Rss", environment)[0]))
    }

    /// Whether the system reads single pages of it.
    private func readsSinglePages(_ environment: Environment) throws -> Bool {
        try words("VmFlags", environment).contains("rr")
    }

    private func write(_ megabytes: Int, _ environment: Environment) throws {
        let database = try environment.database("one")
        let value = [UInt8](repeating: 7, count: 1_000)
        for part in 0..<megabytes {
            try environment.save { access in
                for number in 0..<1_000 {
                    let key = withUnsafeBytes(of: UInt64(part * 1_000 + number).bigEndian) {
                        Array($0)
                    }
                    try access.put(key, value, in: database)
                }
            }
        }
    }

    private func readAll(_ environment: Environment) throws -> Int {
        try environment.read { transaction in
            var sum = 0
            try transaction.access.withCursor(in: environment.database("one")) { cursor in
                while try cursor.next() { sum += Int(cursor.value[999]) }
            }
            return sum
        }
    }

    @Test func `a process lets go of what it read, and snapshots go on`() throws {
        let environment = try fixture.open { $0.durability = .relaxed }
        try write(8, environment)
        #expect(try readAll(environment) == 7 * 8_000)
        #expect(try residentKilobytes(environment) > 6_000)
        let count = try environment.read { transaction in
            environment.core.releaseMemory()
            return try transaction.access.count(of: environment.database("one"))
        }
        #expect(count == 8_000)
        #expect(try residentKilobytes(environment) < 1_000)
        #expect(try readAll(environment) == 7 * 8_000)
    }

    @Test func `a long import lets go of the file's pages by itself`() throws {
        let environment = try fixture.open { $0.durability = .relaxed }
        try write(1, environment)
        #expect(environment.core.pagesAtRelease != nil)
        let before = try #require(environment.core.pagesAtRelease)
        try write(80, environment)
        #expect(try #require(environment.core.pagesAtRelease) - before >= 16_384)
        #expect(try readAll(environment) == 7 * 80_000)
    }

    // MARK: Files that are larger than the memory

    @Test func `the system reads single pages of a file that is larger than the memory`() throws {
        for isOpenedLarge in [false, true] {
            // What is in memory counts only while the file is smaller than that.
            let environment = try fixture.open {
                $0.durability = .relaxed
                $0.mapBytes = 1 << 22
                $0.memoryBytes = 70 << 20
            }
            #expect(environment.core.map.exceedsMemory == isOpenedLarge)
            if !isOpenedLarge {
                try write(50, environment)
                #expect(try !readsSinglePages(environment))
                try write(100, environment)
            }
            #expect(environment.core.map.exceedsMemory)
            #expect(try readsSinglePages(environment))
            try environment.core.map.grow()
            #expect(try readsSinglePages(environment))
            #expect(try readAll(environment) == 7 * 100_000)
            environment.close()
        }
    }

    @Test func `memory has the limit of the least control group`() {
        #expect(
            MemoryLimit.files(ofGroups: "4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/d e/f:g\nx\n\n") == [
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/d e/memory.max",
                "/sys/fs/cgroup/d e/f:g/memory.max",
            ])
        #expect(MemoryLimit.files(ofGroups: "0::/").first == "/sys/fs/cgroup/memory.max")
        #expect(MemoryLimit.limit("max\n") == nil)
        #expect(MemoryLimit.limit("0\n") == nil)
        #expect(MemoryLimit.limit("134217728\n") == 134_217_728)
        #expect(MemoryLimit.limit("99999999999999999999\n") == nil)
        #expect((1 << 20)...(1 << 50) ~= MemoryLimit.current())
    }

    @Test(arguments: [
        ("7f00-7f10 r--s 00000000 00:1f 12 /a", 0x7F00..<0x7F10 as Range<UInt>?),
        ("7f00-7f00 r--s", nil), ("7f10-7f00 r--s", nil), ("7f00 r--s", nil), ("", nil),
        ("x-y r--s", nil),
    ])
    func `lines of mappings are read`(line: String, bounds: Range<UInt>?) {
        #expect(MemoryMap.bounds(line) == bounds)
    }
}
