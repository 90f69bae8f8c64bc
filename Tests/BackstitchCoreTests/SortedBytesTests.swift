import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct SortedBytesTests {
    @Test(arguments: 0..<50)
    func `it holds what it was made of, whatever the strings have in common`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 11)
        let shared = [UInt8](repeating: 7, count: Int.random(in: 0...12, using: &generator))
        func string() -> [UInt8] {
            let count = Int.random(in: 0...(seed % 2 == 0 ? 3 : 18), using: &generator)
            return shared + (0..<count).map { _ in generator.pick([0, 1, 0xFF]) }
        }
        let members = (0..<Int.random(in: 0...60, using: &generator)).map { _ in string() }
        let set = SortedBytes(members + members)
        let others = (0..<200).map { _ in string() }
        let shorter = others.map { Array($0.dropFirst()) }
        for candidate in members + others + shorter {
            let isThere = candidate.withUnsafeBytes { set.contains($0) }
            #expect(isThere == members.contains(candidate))
        }
    }
}
