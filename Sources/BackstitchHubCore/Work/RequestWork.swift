import CloudKitWire
import Synchronization

/// What one request costs, and whether it may go on.
///
/// Invariant: a request is worked at by one thread at a time, which hands it over to the next, so that
/// the meter needs no lock. Only ``giveUp()`` comes from elsewhere.
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

    /// How many steps pass between two looks at the clock.
    private static let stepsPerLook = 16

    /// Who asks: whose turn it is depends on it.
    package let client: String
    /// Whether the client has no session.
    package let isAnonymous: Bool
    package private(set) var meter = Meter()
    private let clock: @Sendable () -> Int64
    private let ending = Atomic(Ending.none)

    private enum Ending: UInt8, AtomicRepresentable {
        case none
        /// Nobody waits for the answer: reads end.
        case left
        case givenUp
    }

    /// In milliseconds of the steady clock.
    private var deadline = Int64.max
    private var costMax = Int.max
    private var steps = 0
    /// How many rows were noted to be looked at later.
    var expiries = 0
    private var isWriting = false

    package init(
        client: String = "", isAnonymous: Bool = false,
        clock: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        (self.client, self.isAnonymous) = (client, isAnonymous)
        self.clock = clock
    }

    /// Has the work end a number of milliseconds from now.
    func limit(milliseconds: Int) { deadline = clock() + Int64(milliseconds) }

    /// Has the work end as soon as it has cost more than this.
    func limit(cost: Int) { costMax = cost }

    /// Lets the work take as long as it takes, as writes do once they run: their client may have gone,
    /// and finds them done.
    package func unlimit() {
        deadline = .max
        isWriting = true
    }

    /// Has reading end at its next step, because the client has gone.
    package func leave() {
        _ = ending.compareExchange(expected: .none, desired: .left, ordering: .relaxed)
    }

    /// Has the work end at its next step, because the hub ends.
    package func giveUp() { ending.store(.givenUp, ordering: .relaxed) }

    /// Whether the work has to end: its time is over, or nobody waits for the answer.
    package var hasToEnd: Bool {
        let ending = ending.load(ordering: .relaxed)
        return ending == .givenUp || ending == .left && !isWriting
            || deadline < .max && clock() >= deadline
    }

    /// Ends the work if it has to.
    ///
    /// - Throws: ``WorkGivenUp``.
    package func check() throws {
        if hasToEnd { throw WorkGivenUp() }
    }

    // MARK: Counting

    /// Counts a key, and the bytes of its value; looks now and then whether the work may go on.
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

    /// Looks now and then whether the work may go on.
    func step() throws {
        steps += 1
        if steps.isMultiple(of: Self.stepsPerLook) { try check() }
    }
}

/// Work costs more than it may.
struct WorkTooLarge: Error {}

/// A request took too long, or nobody waits for its answer any more.
package struct WorkGivenUp: Error {
    package init() {}
}

extension WireError {
    /// What a client is told whose request took too long or found no room.
    static func busy(_ reason: String, retryAfter: Double = 5) -> WireError {
        WireError(.tryAgainLater, reason, retryAfter: retryAfter)
    }
}
