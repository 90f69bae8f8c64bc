import LMDB

/// Holds notifications until the devices they are for ask for them.
///
/// Notifications are hints: they are kept in memory, bounded and without repetitions, and a device
/// that missed one finds out when it synchronises the next time.
final class CourierBoard: Sendable {
    /// The most notifications that wait for one device; then the oldest goes.
    static let notificationsMax = 32
    /// The most devices that notifications are held for; then those are forgotten that don't ask.
    static let boxesMax = 100_000

    private struct Box {
        var notifications: [CourierNotification] = []
        var waiter: Waiter?
    }

    private struct Waiter {
        var continuation: CheckedContinuation<CourierNotification?, Never>
        var since: Int64
    }

    private let boxes = Locked<[[UInt8]: Box]>([:])

    /// The next notification for a device; nil where none came in time.
    ///
    /// Another call for the same device ends this one.
    func next(_ token: [UInt8], now: Int64) async -> CourierNotification? {
        await withCheckedContinuation {
            (continuation: CheckedContinuation<CourierNotification?, Never>) in
            wait(token, Waiter(continuation: continuation, since: now))
        }
    }

    private func wait(_ token: [UInt8], _ waiter: Waiter) {
        var ended: Waiter?
        var notification: CourierNotification?
        boxes.withLock { boxes in
            var box = boxes[token] ?? Box()
            ended = box.waiter
            if box.notifications.isEmpty {
                box.waiter = waiter
            } else {
                box.waiter = nil
                notification = box.notifications.removeFirst()
            }
            boxes[token] = box
        }
        ended?.continuation.resume(returning: nil)
        if let notification { waiter.continuation.resume(returning: notification) }
    }

    /// Gives a notification to a device.
    func post(_ notification: CourierNotification, to token: [UInt8]) {
        let waiter = boxes.withLock { boxes in
            if boxes.count >= Self.boxesMax, boxes[token] == nil {
                boxes = boxes.filter { $0.value.waiter != nil }
            }
            var box = boxes[token] ?? Box()
            defer { boxes[token] = box }
            if let waiter = box.waiter {
                box.waiter = nil
                return Waiter?.some(waiter)
            }
            if !box.notifications.contains(where: { $0.subject == notification.subject }) {
                box.notifications.append(notification)
            }
            if box.notifications.count > Self.notificationsMax { box.notifications.removeFirst() }
            return nil
        }
        waiter?.continuation.resume(returning: notification)
    }

    /// Ends calls that began before a time.
    func releaseWaiters(before time: Int64) {
        let waiters = boxes.withLock { boxes in
            let late = boxes.filter { ($0.value.waiter?.since ?? .max) <= time }
            for token in late.keys { boxes[token]?.waiter = nil }
            return late.values.compactMap(\.waiter)
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    /// Ends all calls.
    func releaseAll() { releaseWaiters(before: .max) }

    /// How many calls wait.
    var waiterCount: Int { boxes.withLock { boxes in boxes.values.count { $0.waiter != nil } } }
}

/// What a device is told.
struct CourierNotification: Hashable, Sendable {
    /// What it is about; a notification about the same is told once.
    var subject: String
    /// The payload, JSON.
    var payload: [UInt8]
}
