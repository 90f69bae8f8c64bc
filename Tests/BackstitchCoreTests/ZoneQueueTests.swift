import BackstitchCore
import TestBudget
import Testing

/// Which zone is exchanged next, by value.
@Suite(.budgeted) struct ZoneQueueTests {
    private static func zone(
        _ slot: UInt8, needsPull: Bool = true, database: DatabaseScope = .private
    ) -> ZoneQueue.Prepared {
        var zone = ZoneQueue.Prepared()
        zone.slot = slot
        zone.database = database
        zone.needsPull = needsPull
        zone.hasPending = false
        return zone
    }

    private static func queue() -> ZoneQueue {
        var queue = ZoneQueue()
        queue.isAccountChecked = true
        return queue
    }

    /// What comes of an action if nothing is left to be exchanged.
    private static func reply(to action: SyncAction) -> SyncEvent {
        switch action {
        case .fetchDatabaseChanges:
            .databaseChanges(zoneChanged: false, zoneEnded: nil, moreComing: false)
        case .fetchZoneChanges: .zoneChanges(moreComing: false, isFullFetch: false)
        case .foldOutbox: .folded([], isComplete: true)
        case .push(let items, _): .pushed(items.map { _ in .deleted })
        default: .done
        }
    }

    /// Takes steps until the round has ended, or until one comes that a closure takes.
    ///
    /// - Returns: The steps, the last one too.
    private static func run(
        _ queue: inout ZoneQueue, _ first: ZoneQueue.Step,
        until isEnough: (ZoneQueue.Step) -> Bool = { _ in false }
    ) -> [ZoneQueue.Step] {
        var steps = [first]
        while let step = steps.last, step != .done, !isEnough(step), steps.count < 1_000 {
            switch step {
            case .exchange(let slot, let action):
                steps.append(queue.handle(reply(to: action), of: slot))
            case .ended, .done: steps.append(queue.next())
            }
        }
        return steps
    }

    /// The zones that ended, in order.
    private static func ended(_ steps: [ZoneQueue.Step]) -> [UInt8] {
        steps.compactMap { if case .ended(let slot, _) = $0 { slot } else { nil } }
    }

    @Test(arguments: [false, true])
    func `a queue of one zone does what its machine does`(isSetUp: Bool) {
        var queue = Self.queue()
        var prepared = ZoneQueue.Prepared()
        prepared.isSetUp = isSetUp
        let steps = Self.run(&queue, queue.begin([prepared], by: .save, now: 0))
        var machine = SyncMachine()
        var expected = [
            machine.handle(.began(isSetUp: isSetUp, needsPull: false, suspension: nil))
        ]
        while machine.isRunning, let action = expected.last {
            expected.append(machine.handle(Self.reply(to: action)))
        }
        #expect(expected.last == .finish(.completed))
        let exchanges = expected.dropLast().map { ZoneQueue.Step.exchange(0, $0) }
        #expect(steps == exchanges + [.ended(0, .completed), .done])
    }

    @Test func `a zone is set up if the account was not looked at`() {
        var queue = ZoneQueue()
        let first = queue.begin([Self.zone(0)], by: .manual, now: 0)
        #expect(first == .exchange(0, .setUp))
    }

    @Test func `zones have turns in order, and those without work have none`() {
        var queue = Self.queue()
        let zones = [
            Self.zone(0, needsPull: false), Self.zone(2), Self.zone(3, needsPull: false),
            Self.zone(254),
        ]
        let steps = Self.run(&queue, queue.begin(zones, by: .manual, now: 0))
        #expect(Self.ended(steps) == [0, 2, 254])
    }

    @Test func `a round begins behind the zone that had the last turn before`() {
        var queue = Self.queue()
        let one = [Self.zone(0), Self.zone(2), Self.zone(3, needsPull: false)]
        _ = Self.run(&queue, queue.begin(one, by: .manual, now: 0))
        let all = [Self.zone(0), Self.zone(2), Self.zone(3), Self.zone(254)]
        let steps = Self.run(&queue, queue.begin(all, by: .manual, now: 0))
        #expect(Self.ended(steps) == [0, 3, 254, 2])
    }

    @Test func `the list of a database is read once in a round`() {
        var queue = Self.queue()
        let zones = [
            Self.zone(0), Self.zone(2), Self.zone(3, database: .shared),
            Self.zone(4, database: .shared),
        ]
        for _ in 0..<2 {
            let steps = Self.run(&queue, queue.begin(zones, by: .manual, now: 0))
            let lists = steps.filter {
                if case .exchange(_, .fetchDatabaseChanges) = $0 { true } else { false }
            }
            #expect(lists.count == 2 && lists.first == .exchange(0, .fetchDatabaseChanges))
        }
    }

    @Test func `a list that could not be read is read by the next zone`() {
        var queue = Self.queue()
        let first = queue.begin([Self.zone(0), Self.zone(2)], by: .manual, now: 0)
        #expect(first == .exchange(0, .fetchDatabaseChanges))
        _ = queue.handle(.failed(ServiceError(.serviceUnavailable)), of: 0)
        #expect(queue.next() == .exchange(2, .fetchDatabaseChanges))
    }

    @Test func `a zone that the list names is pulled in the same round`() {
        var queue = Self.queue()
        let zones = [Self.zone(0), Self.zone(2, needsPull: false)]
        _ = queue.begin(zones, by: .manual, now: 0)
        let next = queue.handle(Self.reply(to: .fetchDatabaseChanges), of: 0, changed: [2])
        let steps = Self.run(&queue, next)
        #expect(steps.contains(.exchange(2, .fetchZoneChanges)))
    }

    @Test func `a turn ends after a pass that pushed something, if another zone waits`() {
        for others in [[], [Self.zone(2)]] {
            var queue = Self.queue()
            let first = queue.begin([Self.zone(0)] + others, by: .manual, now: 0)
            let fold = ZoneQueue.Step.exchange(0, .foldOutbox(continues: false))
            _ = Self.run(&queue, first) { $0 == fold }
            let item = PushItem(.delete(recordName: "a", changeTag: "1"))
            let push = queue.handle(.folded([item], isComplete: true), of: 0)
            let steps = Self.run(&queue, push)
            #expect(Self.ended(steps) == (others.isEmpty ? [0] : [2, 0]))
            #expect(steps.contains(fold))
        }
    }

    @Test func `a turn ends after some pages, if another zone waits`() {
        var queue = Self.queue()
        let first = queue.begin([Self.zone(0), Self.zone(2)], by: .manual, now: 0)
        let page = ZoneQueue.Step.exchange(0, .fetchZoneChanges)
        var step = Self.run(&queue, first) { $0 == page }.last
        var pages = 0
        while step == page {
            step = queue.handle(.zoneChanges(moreComing: true, isFullFetch: false), of: 0)
            pages += 1
        }
        #expect(pages == ZoneQueue.pagesPerTurn)
        #expect(step == .exchange(2, .fetchZoneChanges))
        let steps = Self.run(&queue, .exchange(2, .fetchZoneChanges))
        #expect(Self.ended(steps) == [2, 0] && steps.contains(page))
    }

    @Test func `a zone that waits holds up no other`() {
        let zones = [Self.zone(0), Self.zone(2)]
        for isAsked in [false, true] {
            var queue = Self.queue()
            _ = queue.begin(zones, by: .manual, now: 0)
            let error = ServiceError(.network, retryAfterSeconds: isAsked ? 60 : nil)
            let (deadline, isNews) = queue.failed(error, of: 2, now: 0, random: 0)
            let due = deadline.dueMilliseconds
            #expect(isNews && queue.deadline == nil)
            for trigger in SyncTrigger.allCases {
                var queue = queue
                queue.stop()
                let steps = Self.run(&queue, queue.begin(zones, by: trigger, now: due - 1))
                let isTaken = trigger == .manual || trigger == .connectivity && !isAsked
                #expect(Self.ended(steps) == (isTaken ? [0, 2] : [0]))
                #expect(queue.leftOutMilliseconds == (isTaken ? nil : due))
                queue.stop()
                let later = Self.run(&queue, queue.begin(zones, by: trigger, now: due))
                #expect(Self.ended(later) == [0, 2] && queue.leftOutMilliseconds == nil)
            }
        }
    }

    @Test func `when all zones wait, the first of their times counts`() {
        var queue = Self.queue()
        let zones = [Self.zone(0), Self.zone(2)]
        _ = queue.begin(zones, by: .manual, now: 0)
        _ = queue.failed(ServiceError(.network, retryAfterSeconds: 60), now: 0, random: 0)
        _ = queue.failed(ServiceError(.network, retryAfterSeconds: 30), of: 2, now: 0, random: 0)
        #expect(queue.deadline?.dueMilliseconds == 30_000)
        queue.stop()
        // A clock that was put back must not keep a round from asking.
        let steps = Self.run(&queue, queue.begin(zones, by: .retry, now: 1))
        #expect(Self.ended(steps) == [0, 2])
    }

    @Test func `failures are counted by zone, and go on with those that the store told of`() {
        var queue = Self.queue()
        var other = Self.zone(2)
        other.retry = RetryDeadline(dueMilliseconds: 5, failures: 3, isAsked: false)
        queue.restore(nil, now: 0)
        _ = queue.begin([Self.zone(0), other], by: .manual, now: 0)
        let error = ServiceError(.network)
        #expect(queue.failed(error, now: 0, random: 0).deadline.failures == 1)
        #expect(queue.failed(error, of: 2, now: 0, random: 0).deadline.failures == 4)
        let isNews = [queue.succeeded(2), queue.succeeded(2)]
        #expect(isNews == [true, false])
        #expect(queue.failed(error, of: 2, now: 0, random: 0).deadline.failures == 1)
        #expect(queue.failed(error, now: 0, random: 0).deadline.failures == 2)
    }

    @Test func `a refusal of the account ends the round for all zones of the database`() {
        let zones = [Self.zone(0), Self.zone(2), Self.zone(3, database: .shared)]
        for (code, rest) in [
            (.notAuthenticated, [3]), (.permissionDenied, [2, 3]),
        ] as [(ServiceError.Code, [UInt8])] {
            var queue = Self.queue()
            _ = queue.begin(zones, by: .manual, now: 0)
            let step = queue.handle(.failed(ServiceError(code)), of: 0)
            #expect(step == .ended(0, .blocked(ServiceError(code))))
            #expect(Self.ended(Self.run(&queue, queue.next())) == rest)
        }
    }

    @Test func `without network few zones are asked`() {
        var queue = Self.queue()
        let zones = [0, 2, 3, 4].map { Self.zone($0) }
        var step = queue.begin(zones, by: .manual, now: 0)
        var asked: [UInt8] = []
        while case .exchange(let slot, _) = step {
            asked.append(slot)
            _ = queue.handle(.failed(ServiceError(.network)), of: slot)
            step = queue.next()
        }
        #expect(asked == [0, 2] && step == .done)
    }

    @Test func `a round that is ended early begins anew`() {
        var queue = Self.queue()
        let zones = [Self.zone(0), Self.zone(2)]
        _ = queue.begin(zones, by: .manual, now: 0)
        queue.stop()
        #expect(!queue.isRunning)
        #expect(queue.next() == .done)
        let first = queue.begin(zones, by: .manual, now: 0)
        #expect(first == .exchange(0, .fetchDatabaseChanges))
    }
}
