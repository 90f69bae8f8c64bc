import CLMDB
import Glibc
import Threading

/// Keeps transactions and changes of the map apart, and pools read transactions.
///
/// Any number of reads and one write pass at the same time. A change of the map, or closing,
/// holds back new ones and waits for those inside. A thread that is inside already always passes:
/// the change waits for it anyway, and holding it back would lock up both.
final class MapLock: @unchecked Sendable {  // All state is protected by the monitor.
    private enum Phase {
        case open
        case exclusive
        case panicked
        case closed
    }

    /// Idle read transactions over this number are ended, because each takes a reader slot.
    static let idleMax = 64

    private let monitor = Monitor()
    private var phase = Phase.open
    private var slots: [UnsafeMutablePointer<ReaderSlot>] = []
    var firstIdle: UnsafeMutablePointer<ReaderSlot>?
    var idleCount = 0
    /// The reads inside, those without a slot included.
    private var inside = 0
    /// The thread whose write is inside; 0 if none is.
    private var writer: UInt = 0
    private var waiters = 0
}

extension MapLock {
    /// Lets a read in.
    ///
    /// - Returns: An idle slot, which belongs to the calling thread until ``leave(_:)``, or `nil`
    ///   if there is none: then the caller makes one and calls ``adopt(_:)``, or gives up with
    ///   ``leave()``.
    func enter() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot>? {
        let thread = UInt(pthread_self())
        monitor.enter()
        defer { monitor.leave() }
        if phase != .open { try passClosed(thread) }
        inside += 1
        guard let slot = firstIdle else { return nil }
        firstIdle = slot.pointee.nextIdle
        idleCount -= 1
        slot.pointee.thread = thread
        return slot
    }

    /// Makes a begun transaction a slot of the calling thread.
    func adopt(
        _ transaction: OpaquePointer, of core: EnvironmentCore
    ) -> UnsafeMutablePointer<ReaderSlot> {
        let slot = ReaderSlot.make(transaction)
        slot.pointee.trees = .allocate(capacity: 1)
        slot.pointee.trees?.initialize(to: SnapshotTrees(of: core))
        slot.pointee.thread = UInt(pthread_self())
        monitor.enter()
        slots.append(slot)
        monitor.leave()
        return slot
    }

    /// Lets a read out. Its transaction has been reset.
    func leave(_ slot: UnsafeMutablePointer<ReaderSlot>) {
        monitor.enter()
        slot.pointee.thread = 0
        if idleCount < Self.idleMax {
            slot.pointee.nextIdle = firstIdle
            firstIdle = slot
            idleCount += 1
        } else {
            slots.removeAll { $0 == slot }
            mdb_txn_abort(slot.pointee.transaction)
            ReaderSlot.free(slot)
        }
        countOut()
        checkInvariants()
        monitor.leave()
    }

    /// Lets a read without a slot out.
    func leave() {
        monitor.enter()
        countOut()
        monitor.leave()
    }

    /// Runs a closure while the environment can't close and the map can't change.
    func inside(_ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        let slot = try enter()
        defer {
            if let slot { leave(slot) } else { leave() }
        }
        try body()
    }

    /// Lets the write of the calling thread in. Only the writer thread calls this.
    func enterWriting() throws(LMDBError) {
        let thread = UInt(pthread_self())
        monitor.enter()
        defer { monitor.leave() }
        if phase != .open { try passClosed(thread) }
        writer = thread
    }

    /// Lets the write out.
    func leaveWriting() {
        monitor.enter()
        writer = 0
        if waiters > 0 { monitor.broadcast() }
        monitor.leave()
    }

    /// Refuses to let the calling thread wait for a write inside a read: a write that enlarges the map
    /// waits for the end of that read.
    ///
    /// - Throws: `busy`.
    func checkWaiting() throws(LMDBError) {
        guard isReading else { return }
        throw LMDBError(
            .busy, "A read can't wait for a write. End the read, then wait for the write.")
    }

    /// Whether a read of the calling thread is inside.
    var isReading: Bool {
        monitor.enter()
        defer { monitor.leave() }
        return isReading(UInt(pthread_self()))
    }
}

extension MapLock {
    /// Runs a closure while no transaction is inside.
    ///
    /// - Throws: `busy` if the calling thread itself is inside, for it would wait for itself.
    func exclusively(_ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        let thread = UInt(pthread_self())
        monitor.enter()
        if isReading(thread) || writer == thread {
            monitor.leave()
            throw LMDBError(
                .busy,
                """
                The map has to be changed, which waits for all reads, and this thread is inside \
                one. End the outer read, then try again.
                """)
        }
        do throws(LMDBError) {
            if phase != .open { try passClosed(thread) }
        } catch {
            monitor.leave()
            throw error
        }
        phase = .exclusive
        waitUntilEmpty()
        monitor.leave()
        defer {
            monitor.enter()
            if phase == .exclusive { phase = .open }
            monitor.broadcast()
            monitor.leave()
        }
        // The map may be in another place from now on.
        monitor.enter()
        for slot in slots { slot.pointee.trees?.pointee.forget() }
        monitor.leave()
        try body()
    }

    /// Refuses everything from now on, because the file is in an unknown state.
    func panic() {
        monitor.enter()
        if phase != .closed { phase = .panicked }
        monitor.broadcast()
        monitor.leave()
    }

    /// Whether it refuses everything because the file is in an unknown state.
    var hasPanicked: Bool {
        monitor.enter()
        defer { monitor.leave() }
        return phase == .panicked
    }

    /// Refuses everything from now on, waits for what is inside, and ends the pooled transactions.
    func close() {
        monitor.enter()
        while phase == .exclusive { wait() }
        phase = .closed
        waitUntilEmpty()
        for slot in slots {
            mdb_txn_abort(slot.pointee.transaction)
            ReaderSlot.free(slot)
        }
        slots = []
        firstIdle = nil
        idleCount = 0
        checkInvariants()
        monitor.leave()
    }

    /// Traps if the pool contradicts itself, unless the build is optimised. Call it in the monitor.
    private func checkInvariants() { assert(violation == nil, violation ?? "") }

    /// What is wrong with the pool of read transactions; nil if nothing is. Call it in the monitor, or
    /// while nobody else uses the lock.
    var violation: String? {
        var (idle, slot) = (0, firstIdle)
        while let next = slot {
            idle += 1
            if idle > idleCount { return "The pool has more idle transactions than \(idleCount)." }
            if !slots.contains(next) { return "The pool has a transaction that was ended." }
            if next.pointee.thread != 0 { return "A thread uses an idle transaction." }
            slot = next.pointee.nextIdle
        }
        if idle < idleCount { return "The pool has \(idle) idle transactions, not \(idleCount)." }
        if idle > Self.idleMax { return "The pool keeps \(idle) idle transactions." }
        if slots.count - idle > inside { return "\(slots.count) transactions, \(inside) reads." }
        return nil
    }

    private func isReading(_ thread: UInt) -> Bool {
        slots.contains { $0.pointee.thread == thread }
    }

    /// Waits until the lock is open, unless the thread is inside already.
    private func passClosed(_ thread: UInt) throws(LMDBError) {
        while true {
            switch phase {
            case .open: return
            case .panicked: throw .panicked
            case .closed: throw .closed
            case .exclusive:
                if writer == thread || isReading(thread) { return }
                wait()
            }
        }
    }

    private func waitUntilEmpty() {
        while inside > 0 || writer != 0 { wait() }
    }

    private func wait() {
        waiters += 1
        monitor.wait()
        waiters -= 1
    }

    private func countOut() {
        inside -= 1
        if waiters > 0, inside == 0 { monitor.broadcast() }
    }
}
