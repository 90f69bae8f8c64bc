import CLMDB
import Glibc
import Synchronization
import Threading

/// Reads of one state on several threads.
package struct ParallelReads {
    private let access: Access

    package init(_ access: Access) { self.access = access }

    /// The processors of the machine that work.
    package static let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The threads of all reads of this process beside those that called them: one less than the processors.
    private static let helpers = ThreadPool(threadsMax: max(1, helpersMax))
    private static let helpersMax = processors - 1
    private static let helpersAtWork = Atomic<Int>(0)

    /// Runs a closure for each number below a count, on this thread and on others at once.
    ///
    /// Numbers are given out in ascending order. Each thread has a view of its own of the state that this one
    /// has. After a failure no more are given out, and the failure of the lowest number is thrown. If a read that
    /// ends with its task is cancelled, all threads end soon.
    ///
    /// - Parameters:
    ///   - threadsMax: The most threads, the calling one included.
    ///   - body: Runs on several threads. Its view is valid inside of it only.
    /// - Returns: Whether it ran. It does not run in a write transaction, nor if all helpers or reader slots are
    ///   taken, nor if a commit has overtaken the state.
    /// - Complexity: A begun snapshot for each thread, and some ten microseconds to wake it.
    package func run(
        count: Int, threadsMax: Int, _ body: (_ number: Int, _ access: Access) throws -> Void
    ) throws -> Bool {
        guard let core = access.core?.takeUnretainedValue(), !access.canWrite else { return false }
        var slots: [UnsafeMutablePointer<ReaderSlot>] = []
        // This thread is in a read already, and is let in even where others wait to change the map.
        defer { for slot in slots { core.endRead(slot) } }
        let wanted = min(threadsMax, count) - 1
        let taken = Self.takeHelpers(wanted)
        defer { Self.helpersAtWork.subtract(taken, ordering: .relaxed) }
        while slots.count < taken {
            // Where all reader slots are taken, the one of this thread is enough.
            guard let slot = try? core.beginRead() else { return false }
            slots.append(slot)
            // A commit of this moment may have come between.
            guard Access(slot, nil).commit == access.commit else { return false }
        }
        guard !slots.isEmpty else { return false }
        // The other threads look at the task of this one.
        try withUnsafeCurrentTask { task in
            let interruptions = slots.map { _ in
                access.interruption.map { _ in ReadInterruption(task) }
            }
            try withExtendedLifetime(interruptions) {
                try run(count: count, on: zip(slots, interruptions).map { Access($0, $1) }, body)
            }
        }
        return true
    }

    /// Runs the closure on this thread and on one for each of the other views.
    private func run(
        count: Int, on others: [Access], _ body: (_ number: Int, _ access: Access) throws -> Void
    ) throws {
        try withoutActuallyEscaping(body) { body in
            let work = SharedWork(count: count, body)
            for other in others {
                // Safe: only the thread that gets it uses it, and this one waits for the end.
                nonisolated(unsafe) let access = other
                work.enter()
                Self.helpers.submit {
                    work.run(access)
                    work.leave()
                }
            }
            work.run(access)
            // Nothing of this frame outlives it: the threads have ended, and the work forgets the closure.
            work.end()
            try work.result()
        }
    }

    /// Takes helpers that are free.
    ///
    /// - Returns: How many it took.
    private static func takeHelpers(_ wanted: Int) -> Int {
        let before = helpersAtWork.load(ordering: .relaxed)
        let free = min(wanted, helpersMax - before)
        guard free > 0 else { return 0 }
        // Another read that takes some at the same time has them: this one does without.
        let (isTaken, _) = helpersAtWork.compareExchange(
            expected: before, desired: before + free, ordering: .relaxed)
        return isTaken ? free : 0
    }

    /// Keys that part a database into pieces of about as many pages each, however its keys are spread: those at
    /// which its tree parts itself.
    ///
    /// - Returns: Ascending keys; fewer than asked for if the tree has few pages, and none if the data file is of
    ///   a later commit.
    /// - Complexity: Reads some branch pages from the file, about 25 of a database of 100,000 rows.
    package func bounds(in database: Database, parts: Int) -> [[UInt8]] {
        guard parts > 1, let core = access.core?.takeUnretainedValue() else { return [] }
        // Whoever reads a page that is damaged finds that out.
        return (try? bounds(in: database, of: core, parts: parts)) ?? []
    }

    /// So many pages, or pages above those, that some more or less make no difference.
    private static let pagesPerPart = 8

    /// The keys at which parts begin, of the highest level of a database's tree that has enough pages, or of the
    /// leaves.
    private func bounds(
        in database: Database, of core: EnvironmentCore, parts: Int
    ) throws(LMDBError) -> [[UInt8]] {
        let file = DataFile(descriptor: core.descriptor, path: core.folder.dataPath)
        let meta = try file.newestMeta()
        var walk = PageWalk(
            file: file, meta: meta, pageCount: try file.byteCount() / meta.pageBytes)
        guard meta.transaction == UInt64(mdb_txn_id(access.transaction)),
            let name = core.options.name(ofDatabase: database.number),
            let tree = try walk.tree(named: name), let root = tree.root,
            tree.depth <= DataFile.depthMax
        else { return [] }
        var numbers = [root]
        for depth in stride(from: tree.depth, to: 1, by: -1) {
            var level: [(number: Int, page: [UInt8], nodes: [Int])] = []
            for number in numbers {
                let page = try walk.read(page: number, expected: PageWalk.Flag.branch)
                level.append((number, page, try walk.nodeOffsets(of: page, number: number)))
            }
            let counts = level.map(\.nodes.count)
            guard depth == 2 || counts.reduce(0, +) > Self.pagesPerPart * parts else {
                numbers = level.flatMap { branch in
                    branch.nodes.map { PageWalk.child(at: $0, of: branch.page) }
                }
                continue
            }
            var bounds: [[UInt8]] = []
            for place in Self.beginnings(of: parts, inBranches: counts) {
                let (number, page, nodes) = level[place.page]
                bounds.append(Array(try walk.key(at: nodes[place.node], of: page, number: number)))
            }
            return bounds
        }
        return []
    }

    /// The nodes of branch pages at which parts begin, all but the first. The first node of a page has no key of
    /// its own, so that the second stands for it.
    static func beginnings(
        of parts: Int, inBranches counts: [Int]
    ) -> [(page: Int, node: Int)] {
        let total = counts.reduce(0, +)
        var places: [(page: Int, node: Int)] = []
        var (page, before) = (0, 0)
        for part in 1..<parts where total > 0 {
            let at = part * total / parts
            while at >= before + counts[page] {
                before += counts[page]
                page += 1
            }
            let place = (page: page, node: max(1, at - before))
            guard place.node < counts[page], places.last.map({ $0 < place }) ?? true else {
                continue
            }
            places.append(place)
        }
        return places
    }
}

/// What several threads do together: numbers that are given out, and how it went.
private final class SharedWork: Sendable {
    private struct State {
        var next = 0
        var atWork = 0
        var failure: (number: Int, error: any Error)?
    }

    private let count: Int
    private let monitor = Monitor()
    // Safe: protected by the monitor.
    nonisolated(unsafe) private var state = State()
    // Safe: set before others have the work, and again when all of them have ended.
    nonisolated(unsafe) private var body: ((Int, Access) throws -> Void)?

    init(count: Int, _ body: @escaping (Int, Access) throws -> Void) {
        (self.count, self.body) = (count, body)
    }

    /// Notes that one more thread has work.
    func enter() { monitor.inside { state.atWork += 1 } }

    /// Notes that a thread has ended its work.
    func leave() {
        monitor.inside {
            state.atWork -= 1
            if state.atWork == 0 { monitor.signal() }
        }
    }

    /// Takes one number after another and runs the closure for it, until all are taken.
    func run(_ access: Access) {
        while let number = next() {
            do {
                try body?(number, access)
            } catch {
                monitor.inside {
                    if state.failure.map({ number < $0.number }) ?? true {
                        state.failure = (number, error)
                    }
                }
            }
        }
    }

    private func next() -> Int? {
        monitor.inside {
            guard state.next < count, state.failure == nil else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    /// Waits for the other threads, and forgets the closure.
    func end() {
        monitor.inside { while state.atWork > 0 { monitor.wait() } }
        body = nil
    }

    func result() throws {
        if let failure = monitor.inside({ state.failure }) { throw failure.error }
    }
}
