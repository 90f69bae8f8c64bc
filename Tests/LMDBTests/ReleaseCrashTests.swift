import CrashStates
import Foundation
import Testing

@testable import LMDB

extension JournalCrashTests {
    /// A process died while records waited, or while it applied some. Another one gives pages back, and
    /// the power is cut.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `pages that only the last state on disk has are not given back too early`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let limits = JournalLimits.eager(apply: Int.random(in: 2...40, using: &generator))
        let first = try open(fixture.store, limits, boot: Self.before)
        defer { first.close() }
        try first.save(Self.entries(of: 0))
        for round in 0..<4 { try first.save(["round": "\(round)"]) }
        let died = try Recording(of: fixture.store, names: Self.names) {
            for round in 1...Int.random(in: 3...60, using: &generator) {
                try first.save(Self.entries(of: round))
            }
        }
        let entries = try first.entries()
        let left = died.kill(at: died.events.count - 1)
        let path = fixture.root + "/second"
        try left.diedInCommit.write(to: path)
        let released = try Recording(of: path, names: Self.names) {
            let second = try open(path, limits, boot: Self.before)
            #expect(try second.releaseAll().isSupported)
            #expect(try second.entries() == entries)
            second.close()
        }
        let both = died.followed(by: released)
        for number in 0..<20 {
            let index = Int.random(
                in: died.events.count..<both.events.count, using: &generator)
            let cut = fixture.root + "/cut"
            try? FileManager.default.removeItem(atPath: cut)
            try both.powerCut(at: index, using: &generator).write(to: cut)
            let third = try open(cut, limits, boot: Self.after)
            defer { third.close() }
            #expect(try third.entries() == entries, "seed \(seed), cut \(number) at \(index)")
            try third.checkPages()
        }
    }

    /// Some pages of entries, which each round replaces.
    private static func entries(of round: Int) -> [String: String] {
        let keys = (0..<40).map { "key \($0)" }
        return Dictionary(
            uniqueKeysWithValues: keys.map {
                ($0, "\(round) " + String(repeating: "y", count: 300 + round % 7 * 50))
            })
    }
}
