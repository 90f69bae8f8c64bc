import CloudKitWire
import Synchronization

/// The work of one request: counts what it costs, and stops it when it takes too long or is not wanted any
/// more.
///
/// Code that works for the request calls ``check()``, ``countKey(bytes:)`` or ``step()`` again and again.
/// They throw once the work has to stop, see ``hasToEnd``.
///
/// Invariant: one thread at a time works at a request, and hands it over to the next. So the meter needs no
/// lock. Other threads call ``leave()`` and ``giveUp()`` alone.
package final class RequestWork: @unchecked Sendable {  // One thread at a time works at a request.
    /// What a request did, in numbers that are the same on every machine.
    package struct Meter: Hashable, Sendable {
        /// Records that were read out of their stored form.
        package var records = 0
        /// Keys that were looked up or passed by.
        package var keysRead = 0
        /// The bytes of values that were looked at, and of bodies.
        package var bytesRead = 0
        /// Comparisons of values: a filter with a value, two places in an order, two links.
        package var comparisons = 0
        /// Keys that were set or removed.
        package var keysWritten = 0
        /// The bytes of values that were set.
        package var bytesWritten = 0
        /// The bytes of replies and notifications that were made.
        package var bytesMade = 0
        /// Waits for a disk, or for a bucket.
        package var fileWaits = 0
        /// The bytes of files that were written or fetched.
        package var fileBytes = 0
        /// Passwords that were hashed.
        package var passwords = 0

        /// One number for all of it, by which clients get their turns: about a microsecond each.
        package var cost: Int {
            keysRead + comparisons / 4 + 4 * keysWritten
                + (bytesRead + bytesWritten + bytesMade + fileBytes) / 256
                + 1_000 * fileWaits + 100_000 * passwords
        }
    }

    /// The work looks at the clock once in so many steps.
    private static let stepsPerLook = 16

    /// Who sent the request. Queues share their turns between clients.
    package let client: String
    /// Whether the client has no session.
    package let isAnonymous: Bool
    package private(set) var meter = Meter()
    private let clock: @Sendable () -> Int64
    private let ending = Atomic(Ending.none)

    /// Why another thread wants the work to stop.
    private enum Ending: UInt8, AtomicRepresentable {
        /// It does not.
        case none
        /// The client has gone. This stops reads, and not writes that run.
        case left
        /// The hub ends. This stops all work.
        case givenUp
    }

    /// When the time of the work is over, in milliseconds of the steady clock.
    private var deadline = Int64.max
    /// The cost above which ``countKey(bytes:)`` throws.
    private var costMax = Int.max
    /// How often ``step()`` was called.
    private var steps = 0
    /// How many entries the transaction wrote that say when a row expires. ``Expiry`` removes twice as
    /// many old ones and some more, so that they don't pile up.
    var expiries = 0
    /// Whether the work is a write that runs, see ``unlimit()``.
    private var isWriting = false

    package init(
        client: String = "", isAnonymous: Bool = false,
        clock: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        (self.client, self.isAnonymous) = (client, isAnonymous)
        self.clock = clock
    }

    /// Sets a deadline so many milliseconds from now, at which the work stops.
    func limit(milliseconds: Int) { deadline = clock() + Int64(milliseconds) }

    /// Sets the most that the work may cost; beyond it ``countKey(bytes:)`` throws ``WorkTooLarge``.
    func limit(cost: Int) { costMax = cost }

    /// Takes the deadline away, and has ``leave()`` stop nothing from now on. A write calls it when it leaves
    /// its queue and runs: other writes share its commit, and its client finds it done, even after a lost
    /// connection. ``giveUp()`` still stops it.
    package func unlimit() {
        deadline = .max
        isWriting = true
    }

    /// Stops the work at its next step because its client has gone, unless it is a write that runs already.
    /// Any thread may call it.
    package func leave() {
        _ = ending.compareExchange(expected: .none, desired: .left, ordering: .relaxed)
    }

    /// Stops the work at its next step because the hub ends. Any thread may call it.
    package func giveUp() { ending.store(.givenUp, ordering: .relaxed) }

    /// Whether the work has to stop: its deadline has passed, the hub ends, or the client has gone and the
    /// work is no write that runs.
    package var hasToEnd: Bool {
        let ending = ending.load(ordering: .relaxed)
        return ending == .givenUp || ending == .left && !isWriting
            || deadline < .max && clock() >= deadline
    }

    /// Throws ``WorkCancelled`` if the work has to stop.
    package func check() throws {
        if hasToEnd { throw WorkCancelled() }
    }

    // MARK: Counting

    /// Counts a key and the bytes of its value, and is a ``step()``.
    ///
    /// - Throws: ``WorkTooLarge``, ``WorkCancelled``.
    package func countKey(bytes: Int = 0) throws {
        meter.keysRead += 1
        meter.bytesRead += bytes
        if costMax < .max, meter.cost > costMax { throw WorkTooLarge() }
        try step()
    }

    func countRecord() { meter.records += 1 }

    func countComparisons(_ count: Int = 1) { meter.comparisons += count }

    func countMade(bytes: Int) { meter.bytesMade += bytes }

    /// Counts a body that is parsed.
    func countBody(bytes: Int) { meter.bytesRead += bytes }

    /// Counts a wait for a disk or a bucket, and the bytes that are written to it or fetched.
    func countFile(bytes: Int) {
        meter.fileWaits += 1
        meter.fileBytes += bytes
    }

    /// Counts a password that is hashed.
    func countPassword() { meter.passwords += 1 }

    package func countWrite(bytes: Int = 0) {
        meter.keysWritten += 1
        meter.bytesWritten += bytes
    }

    /// Makes the ``check()`` once in several calls, because it reads the clock.
    func step() throws {
        steps += 1
        if steps.isMultiple(of: Self.stepsPerLook) { try check() }
    }
}

/// The work of a request costs more than ``RequestWork/limit(cost:)`` allows.
struct WorkTooLarge: Error {}

/// The work of a request was stopped, see ``RequestWork/hasToEnd``, or found no place in a queue.
package struct WorkCancelled: Error {
    package init() {}
}

extension WireError {
    /// The reply to a request that took too long or found no room: the client tries again later.
    static func busy(_ reason: String, retryAfter: Double = 5) -> WireError {
        WireError(.tryAgainLater, reason, retryAfter: retryAfter)
    }
}
