import TestBudget
import Testing

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

@Suite("When hubs tell each other what they changed", .budgeted) struct WakeScheduleTests {
    private let one = Partition(number: 1)
    private let two = Partition(number: 0x2A)

    @Test func `what changed is told at once, and then every 50 milliseconds at most`() {
        var schedule = WakeSchedule(sender: 0xAB)
        #expect(schedule.next(now: 0, isWatching: false) == .wait(milliseconds: 60_000))
        schedule.end([(two, 1), (one, 7)], areMade: true)
        #expect(schedule.next(now: 1_000, isWatching: false) == .tell("ab 1,2a"))
        schedule.told()
        schedule.end([(one, 8)], areMade: true)
        #expect(schedule.next(now: 1_010, isWatching: false) == .wait(milliseconds: 40))
        schedule.end([(one, 9)], areMade: true)
        #expect(schedule.next(now: 1_050, isWatching: false) == .tell("ab 1"))
        schedule.told()
        #expect(!schedule.hasNews)
    }

    @Test func `who watches looks at once, and then every five seconds`() {
        var schedule = WakeSchedule(sender: 1)
        #expect(schedule.next(now: 7, isWatching: true) == .look)
        #expect(schedule.next(now: 7, isWatching: true) == .wait(milliseconds: 5_000))
        #expect(schedule.next(now: 5_006, isWatching: true) == .wait(milliseconds: 1))
        #expect(schedule.next(now: 5_007, isWatching: true) == .look)
        schedule.lookSoon()
        #expect(schedule.next(now: 5_008, isWatching: true) == .look)
    }

    @Test func `a look finds what others committed, and not what this hub did`() {
        var schedule = WakeSchedule(sender: 1)
        #expect(schedule.looked([one: 4, two: 9]) == [one, two])
        schedule.begin([(one, 5)])
        // Another hub's commit, the tenth, was not told of.
        schedule.begin([(two, 11)])
        #expect(schedule.looked([one: 4, two: 10]) == [two])
        #expect(schedule.looked([one: 5, two: 11]) == [two])
        #expect(schedule.looked([one: 5, two: 11]) == [])
        #expect(schedule.looked([two: 12]) == [two])
    }

    @Test func `a commit that was not made leaves its number to others`() {
        var schedule = WakeSchedule(sender: 1)
        _ = schedule.looked([one: 4])
        schedule.begin([(one, 5)])
        schedule.end([(one, 5)], areMade: false)
        #expect(!schedule.hasNews)
        #expect(schedule.looked([one: 4]) == [])
        #expect(schedule.looked([one: 5]) == [one])
    }

    @Test func `what was being told when the connection was cut is told again`() {
        var schedule = WakeSchedule(sender: 1)
        schedule.end([(one, 1)], areMade: true)
        #expect(schedule.next(now: 0, isWatching: false) == .tell("1 1"))
        schedule.end([(two, 1)], areMade: true)
        schedule.reconnect()
        #expect(schedule.next(now: 50, isWatching: true) == .tell("1 1,2a"))
        #expect(schedule.next(now: 50, isWatching: true) == .look)
    }

    @Test func `more partitions than a notification takes are told as all`() {
        for (count, isAll) in [(400, false), (401, true)] {
            var schedule = WakeSchedule(sender: .min)
            schedule.end(
                (1...UInt64(count)).map { (Partition(number: .max - $0), 1) }, areMade: true)
            guard case .tell(let text) = schedule.next(now: 0, isWatching: false) else {
                Issue.record("Nothing is told.")
                continue
            }
            #expect(text.utf8.count < 8_000)
            #expect((WakeSchedule(sender: 2).read(text) == .all) == isAll)
        }
    }

    @Test func `its own notifications are nothing, and what can't be read is everything`() {
        let schedule = WakeSchedule(sender: -1)
        #expect(schedule.read("ffffffffffffffff 1") == nil)
        #expect(schedule.read("1 1,2a") == .some(.some([one, two])))
        for text in ["", "1", "1 ", "1 x", "1 1,", "1 1 1", "1 01"] where text != "1 1," {
            #expect(schedule.read(text) == .all, "\(text)")
        }
    }
}
