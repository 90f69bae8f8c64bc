import BackstitchCore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct ConformanceTests {
    @Test(arguments: RecordServiceConformance.Check.allCases)
    func `the simulated service conforms`(check: RecordServiceConformance.Check) async {
        let service = SimulatedRecordService()
        #expect(await conformance(of: service).run(check) == [])
    }

    @Test func `all checks pass one after the other on one service`() async {
        let service = SimulatedRecordService()
        #expect(await conformance(of: service).run() == [])
        #expect(service.cloud.violations == [])
    }

    @Test func `a service that keeps things from its client conforms too`() async {
        var options = SimulatedCloud.Options()
        options.conflictsCarryServerRecord = false
        options.existsCarriesServerRecord = false
        options.deletionsCarryType = false
        options.wrapsLimitExceeded = true
        let limits = ServiceLimits(operationsPerRequest: 3, recordsPerPage: 2)
        let service = SimulatedRecordService(limits: limits, options: options)
        let failures = await conformance(of: service).run()
        #expect(failures == [], "\(failures)")
        #expect(service.cloud.violations == [])
    }

    @Test func `a service that loses writes does not conform`() async {
        let service = SimulatedRecordService()
        service.inject(ScriptedFault(.staleRead, for: .untilCleared))
        let failures = await conformance(of: service).run()
        #expect(failures.contains { $0.hasPrefix("echoes: ") })
    }

    private func conformance(of service: SimulatedRecordService) -> RecordServiceConformance {
        let numbers = SeededNumbers()
        return RecordServiceConformance(service) { ZoneID("zone-\(numbers.next())") }
    }
}

/// Counts up, from any task.
private final class SeededNumbers: Sendable {
    private let clock = ManualClock(milliseconds: 0)

    func next() -> Int64 {
        clock.advance(milliseconds: 1)
        return clock.milliseconds
    }
}
