import Threading

/// Holds notifications until the devices they are for ask for them.
///
/// Notifications are hints: they are kept in memory, bounded and without repetitions, and a device
/// that missed one finds out when it synchronises the next time. A device has a box from the moment
/// that it gets its address, or asks at it, until it has not asked for a time.
final class NotificationMailboxes: MailboxStorage {
    /// The most notifications that wait for one device; then the oldest goes.
    static let notificationsMax = 32
    /// The most devices that notifications are held for; further ones have to wait at their address
    /// to get any.
    static let boxesMax = 100_000

    private struct Box {
        var listener: CourierListener
        var notifications: [CourierNotification] = []
        var waiter: Waiter?
        /// When the device asked last, in milliseconds of the steady clock.
        var asked: Int64
    }

    private struct Waiter {
        var answer: @Sendable (CourierNotification?) -> Void
        /// Tells it from the others of the same device.
        var number: Int
    }

    /// An entry of a list by time: who waited, or asked, since when.
    private struct Moment {
        var time: Int64
        var token: [UInt8]
        var number: Int
    }

    /// Moments in the order in which they were noted, which is that of a clock that is never set back.
    private struct Moments {
        private var list: [Moment] = []
        private var first = 0

        mutating func add(_ moment: Moment) { list.append(moment) }

        mutating func take(before time: Int64) -> [Moment] {
            let start = first
            while first < list.count, list[first].time <= time { first += 1 }
            let taken = Array(list[start..<first])
            if first == list.count {
                (list, first) = ([], 0)
            } else if first > 1_024, first * 2 > list.count {
                list.removeFirst(first)
                first = 0
            }
            return taken
        }
    }

    private struct State {
        var boxes: [[UInt8]: Box] = [:]
        /// The devices of each user that have a box.
        var devices: [CourierListener: Set<[UInt8]>] = [:]
        var waiting = Moments()
        var asked = Moments()
        var lastNumber = 0
        var waiterCount = 0

        /// The box of a device, new if it has none; nil if there are too many.
        mutating func open(_ token: [UInt8], _ listener: CourierListener, _ now: Int64) -> Bool {
            if boxes[token] != nil {
                boxes[token]?.asked = now
                return true
            }
            guard boxes.count < NotificationMailboxes.boxesMax else { return false }
            boxes[token] = Box(listener: listener, asked: now)
            devices[listener, default: []].insert(token)
            asked.add(Moment(time: now, token: token, number: 0))
            return true
        }

        mutating func close(_ token: [UInt8]) {
            guard let box = boxes.removeValue(forKey: token) else { return }
            devices[box.listener]?.remove(token)
            if devices[box.listener]?.isEmpty == true { devices[box.listener] = nil }
        }
    }

    private let state = Locked(State())

    /// Holds notifications for a device that has got its address.
    package func expect(_ token: [UInt8], of listener: CourierListener, now: Int64) {
        _ = state.withLock { $0.open(token, listener, now) }
    }

    package func wait(
        _ token: [UInt8], of listener: CourierListener, now: Int64,
        _ answer: @escaping @Sendable (CourierNotification?) -> Void
    ) {
        var ended: Waiter?
        var notification: CourierNotification?
        let isWaiting = state.withLock { state in
            guard state.open(token, listener, now) else { return false }
            ended = state.boxes[token]?.waiter
            if ended != nil { state.waiterCount -= 1 }
            state.boxes[token]?.waiter = nil
            if state.boxes[token]?.notifications.isEmpty == false {
                notification = state.boxes[token]?.notifications.removeFirst()
                return false
            }
            state.lastNumber += 1
            state.waiterCount += 1
            state.boxes[token]?.waiter = Waiter(answer: answer, number: state.lastNumber)
            state.waiting.add(Moment(time: now, token: token, number: state.lastNumber))
            return true
        }
        ended?.answer(nil)
        if !isWaiting { answer(notification) }
    }

    /// Gives a notification to a device that has a box.
    ///
    /// - Parameter wake: Runs the closure that wakes the call of the device, if it waits.
    package func post(
        _ notification: CourierNotification, to token: [UInt8],
        wake: (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        let waiter: Waiter? = state.withLock { state in
            guard var box = state.boxes.removeValue(forKey: token) else { return nil }
            defer { state.boxes[token] = box }
            if let waiter = box.waiter {
                box.waiter = nil
                state.waiterCount -= 1
                return waiter
            }
            if !box.notifications.contains(where: { $0.subject == notification.subject }) {
                box.notifications.append(notification)
            }
            if box.notifications.count > Self.notificationsMax { box.notifications.removeFirst() }
            return nil
        }
        if let waiter { wake { waiter.answer(notification) } }
    }

    /// Drops what waits for a device, and ends its call.
    package func forget(_ token: [UInt8]) {
        let waiter: Waiter? = state.withLock { state in
            let waiter = state.boxes[token]?.waiter
            if waiter != nil { state.waiterCount -= 1 }
            state.close(token)
            return waiter
        }
        waiter?.answer(nil)
    }

    /// Ends calls that began at a time or before it.
    ///
    /// - Complexity: O(*n*) in these.
    package func releaseWaiters(before time: Int64) {
        let waiters = state.withLock { state in
            state.waiting.take(before: time).compactMap { moment -> Waiter? in
                guard let waiter = state.boxes[moment.token]?.waiter,
                    waiter.number == moment.number
                else { return nil }
                state.boxes[moment.token]?.waiter = nil
                state.waiterCount -= 1
                return waiter
            }
        }
        for waiter in waiters { waiter.answer(nil) }
    }

    /// Forgets devices that have not asked since a time.
    ///
    /// - Complexity: O(*n*) in those that asked first before that.
    package func forget(before time: Int64) {
        state.withLock { state in
            for moment in state.asked.take(before: time) {
                guard let box = state.boxes[moment.token] else { continue }
                if box.waiter == nil, box.asked <= time {
                    state.close(moment.token)
                } else {
                    // Not before it could be gone.
                    let next = max(box.asked, time + 1)
                    state.asked.add(Moment(time: next, token: moment.token, number: 0))
                }
            }
        }
    }

    /// Whether a device of a user may wait for notifications. If no user is named, whether any device may.
    package func mayListen(realm: UInt32, user: String?) -> Bool {
        state.withLock { state in
            guard let user else { return !state.boxes.isEmpty }
            return state.devices[CourierListener(realm: realm, userRecordName: user)] != nil
        }
    }

    /// The devices of users of a realm that have boxes: all users if none is named.
    package func devices(realm: UInt32, user: String?) -> [(user: String, tokens: [[UInt8]])] {
        state.withLock { state in
            if let user {
                let listener = CourierListener(realm: realm, userRecordName: user)
                return state.devices[listener].map { [(user, Array($0))] } ?? []
            }
            return state.devices.compactMap { listener, tokens in
                listener.realm == realm ? (listener.userRecordName, Array(tokens)) : nil
            }
        }
    }

    /// How many calls wait.
    package var waiterCount: Int { state.withLock { $0.waiterCount } }

    /// How many devices have boxes.
    package var boxCount: Int { state.withLock { $0.boxes.count } }
}

/// What a device is told.
package struct CourierNotification: Hashable, Sendable {
    /// What it is about; a notification about the same is told once.
    package var subject: String
    /// The payload, JSON.
    package var payload: [UInt8]
}
