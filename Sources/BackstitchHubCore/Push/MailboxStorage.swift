/// Where notifications wait until the devices they are for ask for them: in this process
/// (``NotificationMailboxes``), or where several hubs find them.
package protocol MailboxStorage: Sendable {
    /// Holds notifications for a device that has got its address.
    func expect(_ token: [UInt8], of listener: CourierListener, now: Int64)

    /// Has a closure called with the next notification for a device; with nil if none comes in time, or
    /// if the device asks again.
    ///
    /// - Parameter answer: Called once, on any thread, and maybe before this returns. It must not wait.
    func wait(
        _ token: [UInt8], of listener: CourierListener, now: Int64,
        _ answer: @escaping @Sendable (CourierNotification?) -> Void)

    /// Gives a notification to a device that has a box.
    ///
    /// - Parameter wake: Runs the closure that wakes the call of the device, if it waits.
    func post(
        _ notification: CourierNotification, to token: [UInt8],
        wake: (@escaping @Sendable () -> Void) -> Void)

    /// Drops what waits for a device, and ends its call.
    func forget(_ token: [UInt8])

    /// Ends calls that began at a time or before it.
    func releaseWaiters(before time: Int64)

    /// Forgets devices that have not asked since a time.
    func forget(before time: Int64)

    /// Whether a device of a user may wait for notifications. If no user is named, whether any device may.
    func mayListen(realm: UInt32, user: String?) -> Bool

    /// The devices of users of a realm that have boxes: all users if none is named.
    func devices(realm: UInt32, user: String?) -> [(user: String, tokens: [[UInt8]])]

    /// How many calls wait.
    var waiterCount: Int { get }

    /// How many devices have boxes.
    var boxCount: Int { get }
}

extension MailboxStorage {
    /// Ends all calls.
    func releaseAll() { releaseWaiters(before: .max) }
}

/// A user, of whose devices some listen.
package struct CourierListener: Hashable, Sendable {
    package var realm: UInt32
    package var userRecordName: String
}
