import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

/// Damage that LMDB notices only when it writes, and then ends the process.
@Suite(.budgeted) struct AssertionTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    /// Has each list of free pages name its first page alone, as often as it has pages.
    private func damageFreePages() throws {
        let path = fixture.dataPath
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let pageBytes = try MetaPage(Array(bytes.prefix(4_096)), path: path).pageBytes
        let first = try MetaPage(Array(bytes.prefix(pageBytes)), path: path)
        let second = try MetaPage(
            Array(bytes.dropFirst(pageBytes).prefix(pageBytes)), path: path)
        let newest = first.transaction > second.transaction ? first : second
        try #require(newest.free.depth == 1)
        let start = try #require(newest.free.root) * pageBytes
        func number(at offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        let count = (number(at: start + 12) - PageWalk.headerBytes) / 2
        try #require(count > 1)
        for index in 0..<count {
            let node = start + number(at: start + PageWalk.headerBytes + 2 * index)
            guard number(at: node + 4) & Int(PageWalk.Flag.nodeOverflow) == 0 else { continue }
            // The head of the node, and the number of a transaction.
            let list = node + 8 + 8
            let page = Array(bytes[list + 8..<list + 16])
            for place in 1..<max(1, number(at: list)) {
                bytes.replaceSubrange(list + 8 * (place + 1)..<list + 8 * (place + 2), with: page)
            }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test func `a page that is free twice is found by a look, and a write that meets it is told`()
        async throws
    {
        let environment = try fixture.open()
        for round in 0..<6 {
            for number in 0..<40 {
                try environment.save(["k\(number)": String(repeating: "\(round)", count: 1_500)])
            }
        }
        environment.close()
        try damageFreePages()
        let files = EnvironmentFiles(at: fixture.store)
        #expect(try !files.inspect(names: ["one", "two"]) { _ in }.isSound)
        let result = await #expect(
            processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
        ) { [path = fixture.store as String] in
            let environment = try Environment.open(at: path, options: Fixture.options())
            for number in 0..<40 {
                try environment.save(["k\(number)": String(repeating: "x", count: 1_500)])
            }
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains(fixture.store) && said.contains("backstitch doctor"), "\(said)")
    }
}
