import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

/// Half-empty pages that are rewritten as full ones.
@Suite(.budgeted) struct PackingTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    private let database = Database(index: 0)

    private func put(
        _ environment: Environment, _ numbers: [Int], bytes: @Sendable (Int) -> Int
    ) throws {
        try environment.save { access in
            for number in numbers {
                let key = "key \(1_000_000 + number)"
                try access.put(
                    key, key + String(repeating: "v", count: bytes(number)),
                    in: Database(index: 0))
            }
        }
    }

    private func pages(_ environment: Environment) throws -> Int {
        try environment.read { try $0.access.statistics(of: database).leafPages }
    }

    @Test func `pages that splits left half empty become full`() throws {
        let environment = try fixture.open()
        try put(environment, Array(0..<4_000)) { _ in 200 }
        let full = try pages(environment)
        // Every entry grows a little, so that full pages are split.
        try put(environment, Array(0..<4_000)) { _ in 240 }
        let (sparse, entries) = (try pages(environment), try environment.entries())
        #expect(sparse > full * 3 / 2)
        let packed = try environment.pack()
        #expect(packed > sparse / 2)
        // 15 entries fit on a page; LMDB's split leaves one less.
        #expect(try pages(environment) <= 4_000 / 13)
        #expect(try environment.entries() == entries)
        try environment.checkPages()
        #expect(try environment.pack() == 0)
    }

    @Test func `keys in random order are packed too, and what is full stays`() throws {
        let environment = try fixture.open()
        var generator = SeededGenerator(seed: 5)
        let numbers = Array(0..<6_000).shuffled(using: &generator)
        for start in stride(from: 0, to: numbers.count, by: 500) {
            try put(environment, Array(numbers[start..<start + 500])) { _ in 30 }
        }
        let (sparse, entries) = (try pages(environment), try environment.entries())
        #expect(try environment.pack() > 0)
        #expect(try pages(environment) < sparse * 4 / 5)
        #expect(try environment.entries() == entries)
        let last = try environment.info.lastTransaction
        #expect(try environment.pack() == 0)
        #expect(try environment.info.lastTransaction == last)
    }

    @Test func `values with pages of their own stay where they are`() throws {
        let environment = try fixture.open()
        try put(environment, Array(0..<300)) { $0 % 5 == 0 ? 9_000 : 150 }
        let entries = try environment.entries()
        let before = try environment.read { try $0.access.statistics(of: database) }
        _ = try environment.pack()
        let after = try environment.read { try $0.access.statistics(of: database) }
        #expect(after.overflowPages == before.overflowPages)
        #expect(try environment.entries() == entries)
        try environment.checkPages()
    }

    @Test func `an empty database needs nothing`() throws {
        let environment = try fixture.open()
        #expect(try environment.pack() == 0)
        try environment.writer.submitAndWait { try environment.commitNothing(in: database) }
        #expect(try environment.entries().isEmpty)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `whatever is stored, packing keeps it`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let environment = try fixture.open()
        for _ in 0..<8 {
            let numbers = (0..<200).map { _ in Int.random(in: 0..<2_000, using: &generator) }
            let scale = [20, 300, 1_900, 2_500].randomElement(using: &generator) ?? 20
            let sizes = numbers.reduce(into: [Int: Int]()) {
                $0[$1] = Int.random(in: 0...scale, using: &generator)
            }
            try put(environment, numbers) { sizes[$0] ?? 0 }
            let gone = numbers.shuffled(using: &generator).prefix(
                Int.random(in: 0...200, using: &generator))
            try environment.save { access in
                for number in gone {
                    _ = try access.delete(
                        Array("key \(1_000_000 + number)".utf8), in: Database(index: 0))
                }
            }
            let entries = try environment.entries()
            let pagesMax = Int.random(in: 1...40, using: &generator)
            let before = try pages(environment)
            _ = try environment.pack(pagesMax: pagesMax)
            #expect(try environment.entries() == entries, "seed \(seed)")
            #expect(try pages(environment) <= before, "seed \(seed)")
            try environment.checkPages()
        }
    }

    @Test func `pages that lie scattered move to the front, so that the rest is one piece`() throws
    {
        let environment = try fixture.open()
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<30 {
            let numbers = (0..<300).map { _ in Int.random(in: 0..<6_000, using: &generator) }
            try put(environment, numbers) { $0 % 40 == 0 ? 9_000 : 300 }
        }
        let gone = (0..<6_000).shuffled(using: &generator).prefix(4_500)
        try environment.save { access in
            for number in gone {
                _ = try access.delete(
                    Array("key \(1_000_000 + number)".utf8), in: Database(index: 0))
            }
        }
        let entries = try environment.entries()
        _ = try environment.pack()
        let target = try environment.info.usedBytes / 4_096 * 33 / 32 + 64
        for _ in 0..<4 { _ = try environment.move(behind: target) }
        #expect(try environment.entries() == entries)
        try environment.checkPages()
        try environment.writer.submitAndWait { try environment.commitNothing(in: database) }
        let info = try environment.info
        var budget = PageReleaseBudget.everything
        budget.pagesPerRunMin = 16
        let before = try environment.allocatedBytes
        let release = try environment.release(budget, below: nil)
        #expect(before - info.usedBytes > 1 << 20)
        #expect(release.bytes > (before - info.usedBytes) * 3 / 4)
        #expect(try environment.entries() == entries)
        try environment.checkPages()
    }

    @Test func `packed and given back, a file is small without a copy`() throws {
        let environment = try fixture.openJournaled()
        for size in [150, 400, 420] {
            try put(environment, Array(0..<4_000)) { _ in size }
            for number in 0..<5 { try environment.save(["small": "\(number)"]) }
        }
        let entries = try environment.entries()
        _ = try environment.pack()
        try environment.writer.submitAndWait { try environment.commitNothing(in: database) }
        let release = try environment.releaseAll()
        #expect(release.bytes > 1 << 20)
        let used = try environment.info.usedBytes
        #expect(try environment.allocatedBytes < used + used / 20)
        #expect(try environment.entries() == entries)
        // Nine entries fit on a page; LMDB's split leaves eight.
        #expect(used < 4_000 / 8 * 4_096 * 21 / 20)
    }
}

extension Environment {
    /// Moves pages of database `one` from behind a number, and returns how many.
    func move(behind target: Int) throws -> Int {
        var (pages, next) = (0, [UInt8]?.none)
        repeat {
            let from = next
            let step = try writer.submitAndWait {
                try movePages(of: Database(index: 0), from: from, behind: target)
            }
            pages += step.pages
            next = step.next
        } while next != nil
        return pages
    }

    /// Packs database `one`, and returns the number of pages that were rewritten.
    func pack(pagesMax: Int = pagesPerPacking) throws -> Int {
        var (pages, next) = (0, [UInt8]?.none)
        repeat {
            let from = next
            let step = try writer.submitAndWait {
                try packPages(of: Database(index: 0), from: from, pagesMax: pagesMax)
            }
            pages += step.pages
            next = step.next
        } while next != nil
        return pages
    }
}
