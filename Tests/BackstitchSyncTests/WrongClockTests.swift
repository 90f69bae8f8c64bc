import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// A clock that is ahead of another one.
private struct OffsetClock: StoreClock {
    let time: ManualClock
    let ahead: Locked<Int64>

    var now: Date { Date(milliseconds: time.milliseconds + ahead.withLock { $0 }) }
    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }
    func random() -> Double { time.random() }
}

/// A device whose clock was far ahead once: that must not decide about, nor date, what it saves later.
@Suite(.budgeted) struct WrongClockTests {
    private static let day: Int64 = 86_400_000
    private static let year: Int64 = 365 * day

    private let time = ManualClock(milliseconds: 1_750_000_000_000)
    private let cloud: SimulatedCloud

    init() { cloud = SimulatedCloud(clock: time) }

    /// A device whose clock is ahead of the common time by what `ahead` says.
    private func device(_ name: String, ahead: Locked<Int64>) throws -> Device {
        let time = time
        let store = try Store.inMemory(
            schema: scenarioSchema,
            configuration: StoreConfiguration(
                clock: OffsetClock(time: time, ahead: ahead)))
        return try Device(cloud, name, store: store) { $0.conflictPolicy = .lastWriterWins }
    }

    /// What the service has in the end where y edits first, x a while later, and y comes last.
    private func winner(
        jump: Int64, daysLater: Int64, xLaterBy: Int64
    ) async throws -> (title: String?, date: Date) {
        let yAhead = Locked<Int64>(0)
        let y = try device("y", ahead: yAhead)
        let x = try device("x", ahead: Locked<Int64>(0))
        try await y.note("a", "base")
        try await y.sync()
        try await x.sync()
        if jump > 0 {
            yAhead.withLock { $0 = jump }
            try await y.note("unrelated", "saved while the clock is ahead")
            yAhead.withLock { $0 = 0 }
        }
        time.advance(milliseconds: daysLater * Self.day)
        let edited = time.milliseconds
        try await y.note("a", "y, first")
        let date = try #require(
            try y.store.read { try $0.history(of: Note.ID("a")).map(\.operation.date).max() })
        time.advance(milliseconds: xLaterBy)
        try await x.note("a", "x, later")
        try await x.sync()
        time.advance(milliseconds: 1_000)
        try await y.sync()
        try await x.sync()
        #expect(try x.titles() == y.titles())
        #expect(abs(date.timeIntervalSince1970 * 1_000 - Double(edited)) <= 60_000)
        guard case .string(let title)? = cloud.record(named: "a", in: scenarioZone)?.fields["title"]
        else { return (nil, date) }
        return (title, date)
    }

    @Test(arguments: [0, 10 * year, 8_000 * year], [Int64(1), 30])
    func `the later edit wins, whatever the clock was before`(
        jump: Int64, daysLater: Int64
    ) async throws {
        let winner = try await winner(jump: jump, daysLater: daysLater, xLaterBy: 3_600_000)
        #expect(winner.title == "x, later")
    }

    @Test func `the later edit wins by a clock at its end`() async throws {
        let winner = try await winner(
            jump: LogicalClock.millisecondsMax, daysLater: 1, xLaterBy: 3_600_000)
        #expect(winner.title == "x, later")
    }

    @Test func `a clock that was put right is a minute ahead at most`() async throws {
        #expect(
            try await winner(jump: 10 * Self.year, daysLater: 0, xLaterBy: 59_000).title
                == "y, first")
        #expect(
            try await winner(jump: 10 * Self.year, daysLater: 0, xLaterBy: 61_000).title
                == "x, later")
    }

    @Test func `operations are dated right again, and the log stays whole`() async throws {
        let ahead = Locked<Int64>(0)
        let phone = try device("phone", ahead: ahead)
        try await phone.note("a", "before")
        ahead.withLock { $0 = 10 * Self.year }
        try await phone.note("a", "ahead")
        ahead.withLock { $0 = 0 }
        time.advance(milliseconds: Self.day)
        for text in ["one", "two", "three"] {
            try await phone.note("a", text)
            time.advance(milliseconds: 120_000)
        }
        let dates = try phone.store.read { try $0.history(of: Note.ID("a")).map(\.operation.date) }
            .map { Int64($0.timeIntervalSince1970 * 1_000) }
        #expect(dates.count == 5)
        #expect(dates.count { $0 > time.milliseconds + 60_000 } == 1)
        try await phone.sync()
        try await phone.expectSettled()
        // What is older than a day goes, that from the time ahead included.
        time.advance(milliseconds: 3 * Self.day)
        try await phone.note("b", "new")
        try await phone.sync()
        try await phone.store.compact(.keepUnsynced(days: 1))
        try await phone.expectSettled()
        #expect(try phone.titles() == ["a": "three", "b": "new"])
    }
}
