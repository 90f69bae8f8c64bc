import Foundation
import Glibc
import Testing
import Threading

/// Watches over the tests that run: takes the peaks of what they use, and ends a run that hangs.
///
/// At the end of the process it prints the peaks and the tests that did most. A process that used more
/// than ``ResourceUse/limit`` ends with 1. If tests run one by one, it also does if one used more than the
/// share of its places: so all together stay within the limit, whichever run at the same time.
final class TestWatch: Sendable {
    static let shared = TestWatch()

    /// How many looks, a second's rest apart, a test may do no work. Rests are counted and no clock is
    /// read, so that a machine that stood still takes nothing away.
    private static let idleLooksMax = 600
    /// How many descriptors a test may leave open: those of a few stores whose threads are about to end.
    private static let leftDescriptorsMax = 20
    /// How many looks at what is used come between two looks at the work.
    private static let looksPerSecond = Budget.isOneByOne ? 30 : 3

    struct Run: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct Progress {
        let name: String
        let work: WorkMeter
        let places: Int
        /// What the process used when the test began, and the most since, if tests run one by one.
        let before: ResourceUse
        var peak = ResourceUse()
        var lastCount = -1
        var idleLooks = 0
        var looks = 0
    }

    private struct Done {
        let name: String
        let jobs: Int
        let looks: Int
        let places: Int
        /// The most that the test used, if tests run one by one.
        let use: ResourceUse
        /// How many more descriptors were open when it ended than when it began, if tests run one by one.
        let leftDescriptors: Int

        var seconds: Int { looks / TestWatch.looksPerSecond }
        var target: Substring { name.prefix { $0 != "/" } }
    }

    private struct State {
        var last = 0
        var running: [Int: Progress] = [:]
        var done: [Done] = []
        var peak = ResourceUse()
        /// The peak with the processes that tests started, which may differ from moment to moment.
        var peakOfAll = ResourceUse()
        /// The processes and the tests that ran when they used most of what was more than they may.
        var suspects: [String] = []
        var suspectedUse = ResourceUse()
        /// What the process had mapped before the first test.
        var mappedBefore = 0
    }

    private let state = Locked(State())

    private init() {
        let before = ResourceUse.sum(ResourceUse.ofProcess(getpid()))
        state.withLock { $0.mappedBefore = before.mapped }
        SystemThread.detach { self.watch() }
        atexit { TestWatch.shared.report() }
    }

    func begin(_ test: Test, _ work: WorkMeter, places: Int) -> Run {
        let file = test.sourceLocation.fileID
        let before = Budget.isOneByOne ? ResourceUse.ofThisProcess() : ResourceUse()
        return state.withLock { state in
            state.last += 1
            state.running[state.last] = Progress(
                name: "\(file): \(test.displayName ?? test.name)", work: work, places: places,
                before: before, peak: before)
            return Run(number: state.last)
        }
    }

    func end(_ run: Run) {
        let now = Budget.isOneByOne ? ResourceUse.ofThisProcess() : ResourceUse()
        state.withLock { state in
            guard let ended = state.running.removeValue(forKey: run.number) else { return }
            state.done.append(
                Done(
                    name: ended.name, jobs: ended.work.count, looks: ended.looks,
                    places: ended.places, use: ended.peak.since(ended.before),
                    leftDescriptors: now.descriptors - ended.before.descriptors))
        }
    }

    private func watch() {
        var looks = 0
        while true {
            usleep(useconds_t(1_000_000 / Self.looksPerSecond))
            looks += 1
            if Budget.isOneByOne {
                let use = ResourceUse.ofThisProcess()
                state.withLock { state in
                    state.running = state.running.mapValues { progress in
                        var progress = progress
                        progress.peak = progress.peak.peak(use)
                        return progress
                    }
                }
            }
            let processes = ResourceUse.ofProcess(getpid())
            var use = ResourceUse.sum(processes.filter { $0.number == getpid() })
            let hung = state.withLock { state -> [String] in
                // A sanitizer maps more than all tests may, in each process: then it is not counted.
                let isSanitized = state.mappedBefore > ResourceUse.limit.mapped
                use.mapped = isSanitized ? 0 : max(0, use.mapped - state.mappedBefore)
                state.peak = state.peak.peak(use)
                state.peakOfAll = state.peakOfAll.peak(ResourceUse.sum(processes))
                if !use.isWithin(.limit), !use.isWithin(state.suspectedUse) {
                    state.suspectedUse = use
                    state.suspects =
                        processes.map { "\($0.name): \($0.use.text)" }
                        + state.running.values.map(\.name)
                }
                for number in state.running.keys { state.running[number]?.looks += 1 }
                guard looks % Self.looksPerSecond == 0 else { return [] }
                return state.running.keys.compactMap { Self.hung(&state.running[$0]) }
            }
            guard !hung.isEmpty else { continue }
            for name in hung { print("hung: \(name)") }
            print("These tests did no work while the watch looked \(Self.idleLooksMax) times.")
            fflush(nil)
            abort()
        }
    }

    /// The name of a test that has done nothing for too long.
    private static func hung(_ progress: inout Progress?) -> String? {
        guard var now = progress else { return nil }
        now.idleLooks = now.lastCount == now.work.count ? now.idleLooks + 1 : 0
        now.lastCount = now.work.count
        progress = now
        return now.idleLooks >= idleLooksMax ? now.name : nil
    }

    private func report() {
        let (peak, peakOfAll, done, suspects) = state.withLock {
            ($0.peak, $0.peakOfAll, $0.done, $0.suspects)
        }
        print("The tests that did most work:")
        for test in done.sorted(by: { $0.jobs > $1.jobs }).prefix(20) {
            print("  \(test.jobs) jobs of serial threads: \(test.name)")
        }
        print("The tests that took longest:")
        for test in done.sorted(by: { $0.looks > $1.looks }).prefix(20) {
            print("  \(test.seconds) s: \(test.name)")
        }
        print("The targets, by how long their tests took one after the other:")
        for (target, looks) in Dictionary(
            done.map { ($0.target, $0.looks) }, uniquingKeysWith: +
        ).sorted(by: { $0.value > $1.value }) {
            print("  \(looks / Self.looksPerSecond) s: \(target)")
        }
        reportShares(done)
        print("Peaks: \(peak.text).")
        print("Peaks with all that the tests started: \(peakOfAll.text).")
        guard !peak.isWithin(.limit) else { return }
        print("These processes and tests ran when it was too much:")
        for name in suspects { print("  \(name)") }
        print(
            "The tests use more than they may. Give their suites more places: .budgeted(places:).")
        fflush(nil)
        _exit(1)
    }

    /// Ends the process if a test that ran alone used more than its share.
    private func reportShares(_ done: [Done]) {
        guard Budget.isOneByOne else { return }
        let leaking = done.filter { $0.leftDescriptors > Self.leftDescriptorsMax }
        for test in leaking {
            print("  \(test.leftDescriptors) descriptors left open: \(test.name)")
        }
        let greedy = done.filter {
            !$0.use.isWithin(.share(places: $0.places, of: Budget.placesMax))
        }
        for test in greedy {
            print("  \(test.use.text), with places \(test.places): \(test.name)")
        }
        guard !greedy.isEmpty || !leaking.isEmpty else { return }
        print(
            "These tests use more than their share, or keep it. Give them more places, "
                + ".budgeted(places:), or find out who still holds their stores.")
        fflush(nil)
        _exit(1)
    }
}
