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
        /// The bytes of values that were looked at.
        package var bytesRead = 0
        /// Comparisons of values: a filter with a value, two places in an order, two links.
        package var comparisons = 0
        /// Keys that were set or removed.
        package var keysWritten = 0
        /// The bytes of values that were set.
        package var bytesWritten = 0
        /// The bytes of replies and notifications that were made.
        package var bytesMade = 0

        /// One number for all of it, by which clients get their turns: about a microsecond each.
        package var cost: Int {
            keysRead + comparisons / 4 + 4 * keysWritten
                + (bytesRead + bytesWritten + bytesMade) / 256
        }
    }

    /// How many steps pass between two looks at the clock.
    private static let stepsPerLook = 16

    /// Who asks: whose turn it is depends on it.
    package let client: String
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

    package init(client: String = "", clock: @escaping @Sendable () -> Int64 = { 0 }) {
        self.client = client
        self.clock = clock
    }

    /// Milliseconds of the steady clock.
    var now: Int64 { clock() }

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

    /// Ends the work if it has to.
    ///
    /// - Throws: ``WorkGivenUp``.
    package func check() throws {
        let ending = ending.load(ordering: .relaxed)
        if ending == .givenUp || ending == .left && !isWriting
            || deadline < .max && clock() >= deadline
        {
            throw WorkGivenUp()
        }
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
