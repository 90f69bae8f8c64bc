import CrashStates
import Foundation
import Testing

@testable import LMDB

extension RedoTests {
    /// What a history of commits left.
    struct History {
        let recording: Recording
        /// The entries after each commit, from the state before the first.
        let states: [[String: String]]

        /// Marks: 2 n is the begin of commit n, 2 n + 1 its return.
        func expected(at index: Int) -> ArraySlice<[String: String]> {
            let marks = recording.marks(before: index)
            let begun = marks.filter { $0 % 2 == 0 }.map { $0 / 2 + 1 }.max() ?? 0
            let returned = marks.filter { $0 % 2 == 1 }.map { $0 / 2 + 1 }.max() ?? 0
            return states[returned...max(begun, returned)]
        }
    }

    /// Makes commits of all kinds: small ones, large ones, deletions, an emptied database. Now and
    /// then pages are packed in between, and free ones go back to the file system.
    private func history(_ generator: inout SeededGenerator) throws -> History {
        let environment = try Self.open(fixture.store, boot: Self.before)
        var states: [[String: String]] = [[:]]
        let count = Int.random(in: 5...200, using: &generator)
        let recording = try Recording(of: fixture.store, names: Self.names) {
            for commit in 0..<count {
                var entries = states[states.count - 1]
                let changes = Self.changes(to: &entries, commit, &generator)
                Recording.mark(2 * commit)
                try environment.save { access in
                    let database = Database(index: 0)
                    for change in changes {
                        switch change {
                        case .put(let key, let value): try access.put(key, value, in: database)
                        case .delete(let key):
                            _ = try access.delete(Array(key.utf8), in: database)
                        case .clear: try access.clear(database)
                        }
                    }
                }
                Recording.mark(2 * commit + 1)
                states.append(entries)
                switch Int.random(in: 0..<16, using: &generator) {
                case 0: _ = try environment.pack()
                case 2: _ = try environment.move(behind: 12)
                case 1: _ = try environment.releaseAll()
                default: break
                }
            }
            environment.close()
        }
        return History(recording: recording, states: states)
    }

    private enum Change: Sendable {
        case put(String, String)
        case delete(String)
        case clear
    }

    private static func changes(
        to entries: inout [String: String], _ commit: Int, _ generator: inout SeededGenerator
    ) -> [Change] {
        var changes: [Change] = []
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let key = "key \(Int.random(in: 0..<60, using: &generator))"
            switch Int.random(in: 0..<100, using: &generator) {
            case 0:
                entries = [:]
                changes.append(.clear)
            case 1..<25:
                entries[key] = nil
                changes.append(.delete(key))
            default:
                // Now and then more than the redo file takes at once.
                let isLarge = Int.random(in: 0..<80, using: &generator) == 0
                let bytes = isLarge ? 150_000 : Int.random(in: 0..<900, using: &generator)
                let value = "\(commit) " + String(repeating: "x", count: bytes)
                entries[key] = value
                changes.append(.put(key, value))
            }
        }
        return changes
    }

    /// Opens what a crash left, and checks that exactly the first commits are there, all
    /// acknowledged ones among them, and that the file is sound and can be written.
    private func check(
        _ image: FolderImage, _ history: History, at index: Int, boot: BootID, _ story: String
    ) throws {
        let path = fixture.root + "/crashed"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        let environment = try Self.open(path, boot: boot)
        defer { environment.close() }
        let entries = try environment.entries()
        #expect(history.expected(at: index).contains(entries), "\(story)")
        try environment.checkPages()
        try environment.save(["after": "1"])
        #expect(try environment.entries()["after"] == "1", "\(story)")
    }

    /// `CRASH_STATES` says how many; 600 unless given.
    @Test func `whatever a power cut leaves, acknowledged commits are there and none in part`()
        throws
    {
        let wanted =
            ProcessInfo.processInfo.environment["CRASH_STATES"].flatMap { Int($0) } ?? 600
        let first = UInt64(
            ProcessInfo.processInfo.environment["CRASH_SEED"].flatMap { Int($0) } ?? 1)
        var count = 0
        var seed = first
        while count < wanted {
            let tests = try RedoTests()
            var generator = SeededGenerator(seed: seed)
            let history = try tests.history(&generator)
            for _ in 0..<min(60, wanted - count) {
                let index = Int.random(
                    in: 0..<history.recording.events.count, using: &generator)
                let story = "CRASH_SEED=\(seed), state \(count), event \(index)"
                let cut = history.recording.powerCut(at: index, using: &generator)
                try tests.check(cut, history, at: index, boot: Self.after, story)
                try tests.checkTwice(cut, history, at: index, &generator, story)
                let killed = history.recording.kill(at: index)
                try tests.check(killed, history, at: index, boot: Self.before, story)
                count += 3
            }
            seed += 1
        }
    }

    /// Cuts the power again while the first cut is recovered.
    private func checkTwice(
        _ image: FolderImage, _ history: History, at index: Int,
        _ generator: inout SeededGenerator, _ story: String
    ) throws {
        let path = fixture.root + "/recovering"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        let recording = try Recording(of: path, names: Self.names) {
            try Self.open(path, boot: Self.after).close()
        }
        guard !recording.events.isEmpty else { return }
        let second = Int.random(in: 0..<recording.events.count, using: &generator)
        let cut = recording.powerCut(at: second, using: &generator)
        try check(cut, history, at: index, boot: BootID(testing: 3), story + " then \(second)")
    }
}
