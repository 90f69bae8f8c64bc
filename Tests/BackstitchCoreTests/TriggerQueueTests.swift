import BackstitchCore
import TestBudget
import Testing

/// When the next round begins, by value.
@Suite(.budgeted) struct TriggerQueueTests {
    typealias Entry = TriggerQueue.Entry

    private func queue(poll: Int64? = nil) -> TriggerQueue {
        TriggerQueue(debounceMilliseconds: 500, pollMilliseconds: poll)
    }

    private func deadline(_ due: Int64, isAsked: Bool = false) -> RetryDeadline {
        RetryDeadline(dueMilliseconds: due, failures: 1, isAsked: isAsked)
    }

    @Test func `saves in a row are one round, due after the first one's wait`() {
        var queue = queue()
        queue.add(.save, nowMilliseconds: 100)
        queue.add(.save, nowMilliseconds: 400)
        #expect(queue.next == Entry(.save, dueMilliseconds: 600))
    }

    @Test(arguments: SyncTrigger.allCases, SyncTrigger.allCases)
    func `two triggers are one round, named after the stronger, at the earlier time`(
        first: SyncTrigger, second: SyncTrigger
    ) throws {
        var one = queue()
        one.add(first, nowMilliseconds: 100)
        one.add(second, nowMilliseconds: 100)
        var other = queue()
        other.add(second, nowMilliseconds: 100)
        other.add(first, nowMilliseconds: 100)
        #expect(one == other)
        let next = try #require(one.next)
        #expect([first, second].contains(next.trigger))
        #expect(next.dueMilliseconds == (first == .save && second == .save ? 600 : 100))
        if first == .manual { #expect(next.trigger == .manual) }
        if first == .save, second == .timer { #expect(next.trigger == .save) }
    }

    @Test(arguments: SyncTrigger.allCases)
    func `a trigger during a round leads to another one`(trigger: SyncTrigger) {
        var queue = queue()
        queue.began()
        queue.add(trigger, nowMilliseconds: 100)
        #expect(queue.next == nil)
        queue.ended(nowMilliseconds: 1_000, polls: false)
        #expect(
            queue.next == Entry(trigger, dueMilliseconds: trigger == .save ? 1_500 : 1_000))
        queue.began()
        queue.ended(nowMilliseconds: 2_000, polls: false)
        #expect(queue.next == nil)
    }

    @Test func `a round covers what came before it began`() {
        var queue = queue()
        queue.add(.save, nowMilliseconds: 100)
        queue.add(.retry, atMilliseconds: 9_000)
        queue.began()
        queue.ended(nowMilliseconds: 200, polls: false)
        #expect(queue.next == nil)
    }

    @Test(arguments: SyncTrigger.allCases, [false, true])
    func `after a failure only what may hurry does`(trigger: SyncTrigger, isAsked: Bool) {
        var queue = queue()
        queue.setDeadline(deadline(60_000, isAsked: isAsked))
        queue.add(.retry, atMilliseconds: 60_000)
        queue.add(trigger, nowMilliseconds: 100)
        let hurries = trigger == .manual || (trigger == .connectivity && !isAsked)
        #expect(queue.next?.dueMilliseconds == (hurries ? 100 : 60_000))
    }

    @Test func `nothing is due without a network, and at once when it is back`() {
        var queue = queue()
        queue.setDeadline(deadline(60_000))
        queue.add(.save, nowMilliseconds: 100)
        let isNews = queue.setReachable(false, nowMilliseconds: 200)
        let isRepeated = !queue.setReachable(false, nowMilliseconds: 250)
        #expect(isNews && isRepeated)
        #expect(queue.next == nil)
        _ = queue.setReachable(true, nowMilliseconds: 300)
        #expect(queue.next == Entry(.connectivity, dueMilliseconds: 300))
    }

    @Test func `a network that comes back waits for what the service asked for`() {
        var queue = queue()
        queue.setDeadline(deadline(60_000, isAsked: true))
        _ = queue.setReachable(false, nowMilliseconds: 200)
        _ = queue.setReachable(true, nowMilliseconds: 300)
        #expect(queue.next == Entry(.connectivity, dueMilliseconds: 60_000))
    }

    @Test func `the timer runs from the end of a round, and behind a deadline`() {
        var queue = queue(poll: 10_000)
        queue.began()
        queue.ended(nowMilliseconds: 1_000, polls: true)
        #expect(queue.next == Entry(.timer, dueMilliseconds: 11_000))
        queue.add(.save, nowMilliseconds: 2_000)
        #expect(queue.next == Entry(.save, dueMilliseconds: 2_500))
        queue.began()
        queue.setDeadline(deadline(90_000))
        queue.ended(nowMilliseconds: 3_000, polls: true)
        #expect(queue.next == Entry(.timer, dueMilliseconds: 90_000))
        queue.began()
        queue.ended(nowMilliseconds: 90_000, polls: false)
        #expect(queue.next == nil)
    }

    @Test func `a clock that was put back does not make a wait endless`() {
        let far = deadline(10_000_000_000)
        #expect(far.bounded(nowMilliseconds: 0).dueMilliseconds == Backoff.longestMilliseconds)
        let asked = deadline(10_000_000_000, isAsked: true)
        #expect(asked.bounded(nowMilliseconds: 0).dueMilliseconds == Backoff.askedMillisecondsMax)
        #expect(deadline(50).bounded(nowMilliseconds: 0).dueMilliseconds == 50)
    }
}
