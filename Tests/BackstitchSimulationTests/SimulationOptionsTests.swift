import BackstitchCore
import BackstitchSimulation
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing
import Threading
import Waiting

@Suite(.budgeted) struct SimulationOptionsTests {
    @Test(arguments: SimulationProfile.allCases)
    func `every profile passes all checks`(profile: SimulationProfile) async {
        var options = SimulationOptions()
        options.profile = profile
        // The gate runs many seeds of each by the command.
        let seeds: ClosedRange<UInt64> = 1...(Load.triesEveryPoint ? 6 : 1)
        let summary = await SimulationRun.run(seeds: seeds, options: options)
        #expect(summary.failures.isEmpty, "\(summary.failures)")
    }

    @Test func `a profile has the faults that it is named for`() async {
        func faults(of profile: SimulationProfile) async -> [String: Int] {
            var options = SimulationOptions()
            options.profile = profile
            return await SimulationRun.run(seeds: 1...4, options: options).faultsInjected
        }
        let quiet = await faults(of: .quiet).filter { $0.value > 0 }
        #expect(Set(quiet.keys) == ["foreignEdit"])
        let resets = await faults(of: .resets)
        #expect(resets["zoneDeletedByClient", default: 0] > 0)
        #expect(resets["wipe", default: 0] + resets["restore", default: 0] > 0)
        let crashes = await faults(of: .crashes)
        #expect(crashes["crash", default: 0] > 0 && crashes["crashBeforeCommit", default: 0] > 0)
        #expect(await faults(of: .network)["lostReply", default: 0] > 0)
    }

    @Test func `records with one natural key become one`() async {
        var options = SimulationOptions()
        options.profile = .naturalKeys
        let summary = await SimulationRun.run(seeds: 1...6, options: options)
        #expect(summary.failures.isEmpty, "\(summary.failures)")
        #expect(summary.duplicates > 0)
        options.profile = .default
        let other = await SimulationRun.run(seeds: 1...1, options: options)
        #expect(other.duplicates == 0)
    }

    @Test(arguments: [2, 5, 8])
    func `the number of devices can be set`(count: Int) {
        var options = SimulationOptions()
        options.devices = count
        options.steps = 400
        let script = SimulationScript(seed: 3, options: options)
        #expect(script.steps.count == 400)
        #expect(Set(script.steps.map(\.device)) == Set(0..<count))
    }

    @Test func `only the chosen faults come to pass`() async throws {
        var options = SimulationOptions()
        options.faults = try SimulationFaultChoice.reading("lostReply,crash").get()
        let some = await SimulationRun.run(seeds: 1...6, options: options)
        #expect(some.failures.isEmpty, "\(some.failures)")
        let names = some.faultsInjected.filter { $0.value > 0 }.keys
        #expect(Set(names) == ["lostReply", "crash"])
        options.faults = .none
        let none = await SimulationRun.run(seeds: 1...3, options: options)
        #expect(none.faultsInjected.values.allSatisfy { $0 == 0 })
        #expect(none.rounds > 0)
    }

    @Test func `the same options do the same again`() async {
        var options = SimulationOptions()
        options.profile = .network
        options.devices = 3
        options.steps = 20
        let first = await Simulation(seed: 9, options: options).run()
        let second = await Simulation(seed: 9, options: options).run()
        #expect(first.digest == second.digest && first.faults == second.faults)
        #expect(first.digest != 0)
    }

    @Test func `a list of faults is read as it is written`() throws {
        for choice in [SimulationFaultChoice.none, .all] {
            #expect(try SimulationFaultChoice.reading(choice.description).get() == choice)
        }
        let text = "error.network,lostReply,wipe"
        #expect(try SimulationFaultChoice.reading(text).get().description == text)
        for text in ["", "lostReply,", "all,wipe", "lostreply"] {
            #expect(throws: SimulationFaultChoice.UnknownName.self) {
                try SimulationFaultChoice.reading(text).get()
            }
        }
    }

    @Test func `a replay names the options that are not the usual ones`() {
        var options = SimulationOptions()
        #expect(options.arguments.isEmpty)
        options.profile = .limits
        options.devices = 4
        options.steps = 9
        options.faults = .none
        #expect(options.arguments == "--profile limits --devices 4 --steps 9 --faults none")
    }

    @Test func `a run whose step does no work any more fails`() async throws {
        struct Mute: ForwardingService {
            let service: any RecordService
            let isAsked: Locked<Bool>

            func modifyRecords(
                _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
            ) async throws(ServiceError) -> [ModificationResult] {
                isAsked.withLock { $0 = true }
                // It answers when its task is cancelled.
                try? await eventually { false }
                throw ServiceError(.network)
            }
        }
        let isAsked = Locked(false)
        var options = SimulationOptions()
        options.patience = 3
        options.intermediary = { Mute(service: $0, isAsked: isAsked) }
        // It is looked at once the service is asked.
        options.rest = { try await eventually { isAsked.withLock(\.self) } }
        let failure = try #require(await Simulation(seed: 1, options: options).run().failure)
        #expect(failure.checker == "The run ends")
        let reason = "hung: it did no work while it was looked at 3 times"
        #expect(failure.details == ["Its step \(failure.step) \(reason)."])
    }

    @Test func `a run whose step works without end fails`() async throws {
        /// Works until its task is cancelled, or the run is over.
        struct Busy: ForwardingService {
            let service: any RecordService
            let isOver: Locked<Bool>

            func modifyRecords(
                _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
            ) async throws(ServiceError) -> [ModificationResult] {
                while !Task.isCancelled, !isOver.withLock(\.self) {
                    WorkMeter.current?.add()
                    await Task.yield()
                }
                throw ServiceError(.network)
            }
        }
        let isOver = Locked(false)
        defer { isOver.withLock { $0 = true } }
        var options = SimulationOptions()
        options.jobsMax = 20_000
        options.intermediary = { Busy(service: $0, isOver: isOver) }
        // There is work between two looks.
        let seen = Locked(-1)
        let test = try #require(WorkMeter.current)
        options.rest = {
            try await eventually { test.count > seen.withLock(\.self) }
            seen.withLock { $0 = test.count }
        }
        let failure = try #require(await Simulation(seed: 1, options: options).run().failure)
        #expect(failure.checker == "The run ends")
        let reason = "had not ended after 20000 jobs of stores"
        #expect(failure.details == ["Its step \(failure.step) \(reason)."])
    }

    @Test func `a run whose steps end is not given up, however long it takes`() async {
        /// Counts the pages that are fetched: the time of this test.
        struct Slow: ForwardingService {
            let service: any RecordService
            let pages: Locked<Int>

            func modifyRecords(
                _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
                token: inout String
            ) async throws(ServiceError) -> [ModificationResult] {
                try await service.modifyRecords(
                    modifications, in: zone, atomic: atomic, token: &token)
            }

            func zoneChanges(
                in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
                types: Set<String>?
            ) async throws(ServiceError) -> ZoneChangesPage {
                pages.withLock { $0 += 1 }
                return try await service.zoneChanges(
                    in: zone, since: token, limit: limit, fields: fields, types: types)
            }
        }
        let pages = Locked(0)
        let waits = Locked(0)
        var options = SimulationOptions()
        options.steps = 300
        options.intermediary = { Slow(service: $0, pages: pages) }
        options.patience = 1
        options.rest = {
            let end = pages.withLock(\.self) + 400
            try await eventually { pages.withLock(\.self) >= end }
            waits.withLock { $0 += 1 }
        }
        let result = await Simulation(seed: 105, options: options).run()
        #expect(result.failure == nil)
        #expect(waits.withLock(\.self) > 1, "\(pages.withLock(\.self)) pages")
    }
}
