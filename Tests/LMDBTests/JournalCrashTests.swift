import CrashStates
import Foundation
import TestBudget
import Testing

@testable import LMDB

/// What a power cut or a kill leaves of an environment with a journal.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct JournalCrashTests {
    static let before = BootID(testing: 1)
    static let after = BootID(testing: 2)
    static let names = ["data.mdb", "journal"]

    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    /// What a history of commits left.
    private struct History {
        let recording: Recording
        let limits: JournalLimits
        /// The entries after each commit, from the state before the first.
        let states: [[String: String]]
        /// The commits that a power cut may take after they returned, if no other one followed.
        let relaxed: Set<Int>

        /// Marks: 2 n is the begin of commit n, 2 n + 1 its return.
        func expected(at index: Int, isPowerCut: Bool) -> ArraySlice<[String: String]> {
            let marks = recording.marks(before: index)
            let begun = marks.filter { $0 % 2 == 0 }.map { $0 / 2 + 1 }.max() ?? 0
            let kept = marks.filter { $0 % 2 == 1 && !(isPowerCut && relaxed.contains($0 / 2)) }
            let returned = kept.map { $0 / 2 + 1 }.max() ?? 0
            return states[returned...max(begun, returned)]
        }
    }

    func open(
        _ path: String, _ limits: JournalLimits, boot: BootID, _ durability: Durability = .full
    ) throws -> Environment {
        try fixture.openJournaled(limits, at: path) {
            $0.boot = boot
            $0.durability = durability
        }
    }

    /// Makes commits of all kinds, closes and opens now and then, packs pages and gives some back.
    /// Now and then the disk of the data file is full.
    private func history(
        _ generator: inout SeededGenerator, withRelaxed: Bool
    ) throws -> History {
        var limits = JournalLimits.eager(
            apply: Int.random(in: 1...60, using: &generator),
            inBackground: Bool.random(using: &generator),
            halfBytes: Int.random(in: 1...2, using: &generator) * JournalLimits.halfBytesMin)
        limits.changeBytesMax = Bool.random(using: &generator) ? 64 << 10 : 1 << 20
        limits.changesMax = Int.random(in: 5...40, using: &generator)
        limits.entriesMax = Int.random(in: 5...100, using: &generator)
        limits.commitsBefore = Int.random(in: 0...3, using: &generator)
        limits.idleMilliseconds = 3
        var durability = Durability.full
        var environment = try open(fixture.store, limits, boot: Self.before)
        var states: [[String: String]] = [[:]]
        var relaxed: Set<Int> = []
        var isFull = false
        let count = Int.random(in: 5...200, using: &generator)
        let recording = try Recording(of: fixture.store, names: Self.names) {
            for commit in 0..<count {
                var entries = states[states.count - 1]
                let changes = Self.changes(to: &entries, commit, &generator)
                if durability == .relaxed { relaxed.insert(commit) }
                Recording.mark(2 * commit)
                let isSaved = try Self.save(changes, environment)
                if !isSaved {
                    try #require(isFull, "There was no space.")
                    entries = states[states.count - 1]
                }
                Recording.mark(2 * commit + 1)
                states.append(entries)
                switch Int.random(in: 0..<40, using: &generator) {
                case 0 where !isFull: _ = try environment.pack()
                case 1 where !isFull: _ = try environment.releaseAll()
                case 2 where !isFull: _ = try environment.move(behind: 12)
                case 3:
                    environment.close()
                    let isRelaxed = withRelaxed && Bool.random(using: &generator)
                    durability = isRelaxed ? .relaxed : .full
                    environment = try open(fixture.store, limits, boot: Self.before, durability)
                    isFull = false
                // A moment in which what waits is applied by itself, if the machine gets to it.
                case 4: usleep(8_000)
                case 5...7 where !isFull || Int.random(in: 0..<4, using: &generator) == 0:
                    // Nothing can be applied for a while, and the records fill the file.
                    isFull.toggle()
                    Self.fill(environment, isFull)
                default: break
                }
            }
            environment.close()
        }
        return History(
            recording: recording, limits: limits, states: states, relaxed: relaxed)
    }

    private enum Change: Sendable {
        case put(String, String)
        case delete(String)
        case clear
    }

    /// - Returns: Whether there was space.
    private static func save(_ changes: [Change], _ environment: Environment) throws -> Bool {
        do {
            try environment.save { access in
                let database = Database(index: 0)
                for change in changes {
                    switch change {
                    case .put(let key, let value): try access.put(key, value, in: database)
                    case .delete(let key): _ = try access.delete(Array(key.utf8), in: database)
                    case .clear: try access.clear(database)
                    }
                }
            }
            return true
        } catch let error as LMDBError where error.code == .diskFull {
            return false
        }
    }

    private static func fill(_ environment: Environment, _ isFull: Bool) {
        if isFull {
            environment.setCommitFault { .noSpace }
        } else {
            environment.setCommitFault(nil)
        }
    }

    private static func changes(
        to entries: inout [String: String], _ commit: Int, _ generator: inout SeededGenerator
    ) -> [Change] {
        var changes: [Change] = []
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let key = "key \(Int.random(in: 0..<60, using: &generator))"
            switch Int.random(in: 0..<200, using: &generator) {
            case 0:
                entries = [:]
                changes.append(.clear)
            case 1..<50:
                entries[key] = nil
                changes.append(.delete(key))
            default:
                // Now and then some pages of a record, or more than it takes.
                let size = Int.random(in: 0..<160, using: &generator)
                let bytes =
                    size == 0
                    ? 70_000 : size < 6 ? 20_000 : Int.random(in: 0..<900, using: &generator)
                let value = "\(commit) " + String(repeating: "x", count: bytes)
                entries[key] = value
                changes.append(.put(key, value))
            }
        }
        return changes
    }

    /// Opens what a crash left, and checks that exactly the first commits are there, all
    /// acknowledged ones among them, that the file is sound, and that commits go on.
    private func check(
        _ image: FolderImage, _ history: History, at index: Int, boot: BootID,
        isPowerCut: Bool = true, _ story: String
    ) throws {
        let expected = history.expected(at: index, isPowerCut: isPowerCut)
        try check(image, Array(expected), history.limits, boot: boot, story)
    }

    private func check(
        _ image: FolderImage, _ expected: [[String: String]], _ limits: JournalLimits,
        boot: BootID, _ story: String
    ) throws {
        let path = fixture.root + "/crashed"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        var environment: Environment
        do { environment = try open(path, limits, boot: boot) } catch {
            Issue.record("\(story): \(error)")
            return
        }
        var entries = try environment.entries()
        #expect(expected.contains(entries), "\(story)")
        // Enough to use both halves again.
        for number in 0..<3 {
            let value = "\(number) " + String(repeating: "y", count: 40_000)
            try environment.save(["after": value])
            entries["after"] = value
            #expect(try environment.entries() == entries, "\(story), save \(number)")
        }
        try environment.checkPages()
        environment.close()
        environment = try open(path, limits, boot: boot)
        #expect(try environment.entries() == entries, "\(story), opened again")
        environment.close()
    }

    /// `CRASH_STATES` says how many, 160 unless given; 100,000 is the long form.
    @Test(arguments: [false, true])
    func `whatever a power cut leaves, acknowledged commits are there and none in part`(
        withRelaxed: Bool
    ) throws {
        let wanted = Load.count("CRASH_STATES", else: 160)
        var count = 0
        var seed = UInt64(Load.count("CRASH_SEED", else: 1))
        while count < wanted {
            let tests = try JournalCrashTests()
            var generator = SeededGenerator(seed: seed)
            let history = try tests.history(&generator, withRelaxed: withRelaxed)
            for _ in 0..<min(60, wanted - count) {
                let index = Int.random(
                    in: 0..<history.recording.events.count, using: &generator)
                let story = "CRASH_SEED=\(seed), state \(count), event \(index)"
                let cut = history.recording.powerCut(at: index, using: &generator)
                try tests.check(cut, history, at: index, boot: Self.after, story)
                try tests.checkTwice(cut, history, at: index, &generator, story)
                let back = try tests.withOlderWords(cut, history, at: index, &generator)
                try tests.check(back, history, at: index, boot: Self.before, story + ", no restart")
                let killed = history.recording.kill(at: index)
                try tests.check(
                    killed, history, at: index, boot: Self.before, isPowerCut: false,
                    story + ", killed")
                count += 4
            }
            seed += 1
        }
    }

    /// A disk that was away and came back while the system ran: it may have the words of any moment since
    /// the whole file was synced. Commits don't sync them.
    private func withOlderWords(
        _ image: FolderImage, _ history: History, at index: Int,
        _ generator: inout SeededGenerator
    ) throws -> FolderImage {
        let path = fixture.root + "/earlier"
        try? FileManager.default.removeItem(atPath: path)
        // A write that is under way is not on disk, as that process takes it to be.
        let last = max(0, index - 1)
        let synced = history.recording.events[..<last].lastIndex {
            if case .syncEnded("journal", _) = $0 { true } else { false }
        }
        let earlier = Int.random(in: (synced ?? 0)...last, using: &generator)
        try history.recording.kill(at: earlier).write(to: path)
        let environment = try open(path, history.limits, boot: Self.before)
        defer { environment.close() }
        let journal = FolderImage(of: path, names: ["journal"]).files["journal"]
        var image = image
        guard var words = journal?.dropFirst(4_096).prefix(4_096), words.count == 4_096,
            image.files["journal"].map({ $0.count >= 8_192 }) == true
        else { return image }
        words.replaceSubrange(
            words.startIndex..<words.startIndex + 16,
            with: [UInt8](repeating: 0, count: 8) + [1] + [UInt8](repeating: 0, count: 7))
        if Bool.random(using: &generator) { words[words.startIndex + 40] = 0 }
        image.files["journal"]?.replaceSubrange(4_096..<8_192, with: words)
        return image
    }

    /// Cuts the power again while the first cut is taken over.
    private func checkTwice(
        _ image: FolderImage, _ history: History, at index: Int,
        _ generator: inout SeededGenerator, _ story: String
    ) throws {
        let path = fixture.root + "/again"
        try? FileManager.default.removeItem(atPath: path)
        try image.write(to: path)
        let recording = try Recording(of: path, names: Self.names) {
            try open(path, history.limits, boot: Self.after).close()
        }
        guard !recording.events.isEmpty else { return }
        let second = Int.random(in: 0..<recording.events.count, using: &generator)
        let cut = recording.powerCut(at: second, using: &generator)
        try check(
            cut, history, at: index, boot: BootID(testing: 3), story + " then \(second)")
    }

    /// A process is killed anywhere, another one goes on, and the power is cut anywhere after that.
    /// `CRASH_STATES` says how many states; 160 unless given.
    @Test func `what a second process made behind one that was killed survives a power cut`()
        throws
    {
        let wanted = Load.count("CRASH_STATES", else: 160)
        var count = 0
        var seed = UInt64(Load.count("CRASH_SEED", else: 1))
        while count < wanted {
            let tests = try JournalCrashTests()
            var generator = SeededGenerator(seed: seed)
            let history = try tests.history(&generator, withRelaxed: false)
            for _ in 0..<3 {
                let index = Int.random(
                    in: 0..<history.recording.events.count, using: &generator)
                count += try tests.checkSecond(
                    behind: history, at: index, &generator, "CRASH_SEED=\(seed), event \(index)")
            }
            seed += 1
        }
    }

    /// - Returns: How many states were checked.
    private func checkSecond(
        behind history: History, at index: Int, _ generator: inout SeededGenerator,
        _ story: String
    ) throws -> Int {
        let path = fixture.root + "/second"
        try? FileManager.default.removeItem(atPath: path)
        try history.recording.kill(at: index).diedInCommit.write(to: path)
        var states: [[String: String]] = []
        let went = try Recording(of: path, names: Self.names) {
            let second = try open(path, history.limits, boot: Self.before)
            defer { second.close() }
            var entries = try second.entries()
            states.append(entries)
            for commit in 0..<Int.random(in: 1...60, using: &generator) {
                let changes = Self.changes(to: &entries, commit, &generator)
                Recording.mark(2 * commit)
                try #require(try Self.save(changes, second))
                Recording.mark(2 * commit + 1)
                states.append(entries)
            }
        }
        let died = history.recording.ended(at: index)
        let both = died.followed(by: went)
        for number in 0..<20 {
            let cut = Int.random(in: 0..<went.events.count, using: &generator)
            let marks = went.marks(before: cut)
            let begun = marks.filter { $0 % 2 == 0 }.map { $0 / 2 + 1 }.max() ?? 0
            let returned = marks.filter { $0 % 2 == 1 }.map { $0 / 2 + 1 }.max() ?? 0
            var expected = Array(states[returned...max(begun, returned)])
            // Until then, what the first one did not say that it made may be lost.
            if returned == 0 { expected += history.expected(at: index, isPowerCut: true) }
            try check(
                both.powerCut(at: died.events.count + cut, using: &generator), expected,
                history.limits, boot: Self.after, story + " then \(cut), state \(number)")
        }
        return 20
    }

    /// A process died while it wrote a record, which others can see, and which is not on disk. The next
    /// process goes on behind it, and the power is cut.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `a record that was found is on disk before another one follows it`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let limits = JournalLimits.eager(apply: 1_000, halfBytes: 2 << 20)
        let first = try open(fixture.store, limits, boot: Self.before)
        defer { first.close() }
        for number in 0..<3 { try first.save(["before": "\(number)"]) }
        let died = try Recording(of: fixture.store, names: Self.names) {
            for number in 0..<5 { try first.save(["key \(number)": "a"]) }
        }
        let records = died.events.indices.filter {
            if case .write("journal", _, let bytes, true) = died.events[$0] {
                bytes.count == JournalRecord.pageBytes
            } else {
                false
            }
        }
        let last = try #require(records.randomElement(using: &generator))
        let path = fixture.root + "/second"
        try died.kill(at: last).diedInCommit.write(to: path)
        var second: Environment?
        defer { second?.close() }
        let went = try Recording(of: path, names: Self.names) {
            second = try open(path, limits, boot: Self.before)
            try second?.save(["after": "b"])
            Recording.mark(1)
        }
        let entries = try second?.entries()
        let both = died.ended(at: last).followed(by: went)
        for number in 0..<10 {
            let cut = fixture.root + "/cut"
            try? FileManager.default.removeItem(atPath: cut)
            // Behind the return of the last save.
            try both.powerCut(at: both.events.count - 1, using: &generator).write(to: cut)
            let third = try open(cut, limits, boot: Self.after)
            defer { third.close() }
            #expect(try third.entries() == entries, "seed \(seed), cut \(number)")
        }
    }
}
