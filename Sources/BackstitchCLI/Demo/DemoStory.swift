import Backstitch
import BackstitchTesting
import Foundation

/// Two devices and a service, and what happens to them.
struct DemoStory<Record: DemoRecord> {
    /// How many records one transaction saves.
    static var recordsPerTransaction: Int { 1_000 }

    let data: DemoData<Record>
    let console: Console
    /// Takes the lines of the story.
    let tell: (String) -> Void
    let folder: String
    let cloud: any DemoCloud
    var first: DemoDevice
    var second: DemoDevice
    var report = DemoReport()
    /// What the checks found wrong.
    var failures: [String] = []

    private let interruption = Interruption()
    private let clock = ContinuousClock()

    init(
        _ data: DemoData<Record>, cloud: any DemoCloud, in folder: String, console: Console,
        tell: @escaping (String) -> Void
    ) async throws {
        self.cloud = cloud
        self.data = data
        self.folder = folder
        self.console = console
        self.tell = tell
        first = try await DemoDevice("A", at: folder + "/a", schema: data.schema, cloud: cloud)
        second = try await DemoDevice("B", at: folder + "/b", schema: data.schema, cloud: cloud)
        report.records = data.count
    }

    /// Tells the whole story; ``report`` and ``failures`` say how it went.
    mutating func run() async throws {
        try await importRecords()
        try await spread()
        try await disagree(under: .serverWins)
        try await disagree(under: .clientWins)
        try await crash()
        try await check()
        first.store.close()
        second.store.close()
    }

    // MARK: Import and first exchange

    private mutating func importRecords() async throws {
        let bar = console.progress("Saving on A")
        defer { bar.finish() }
        let store = first.store
        let start = clock.now
        for part in Self.parts(of: data.others.count) {
            let others = data.others[part]
            try await store.write { transaction in
                for record in others { try Self.save(record, transaction) }
            }
        }
        for part in Self.parts(of: data.records.count) {
            try checkInterruption()
            let records = data.records[part]
            try await store.write { transaction in
                for record in records { try transaction.save(record) }
            }
            bar.update(done: data.others.count + part.upperBound, total: data.count)
        }
        let rate = Self.rate(data.count, clock.now - start)
        report.rates.savesPerSecond = rate
        tell("")
        tell("1. Device A is offline and saves all of it.")
        tell(
            "   \(data.count.counted("record")) in transactions of "
                + "\(Self.recordsPerTransaction.grouped), each on disk when it returned: "
                + "\(rate.grouped) saves/s.")
    }

    private mutating func spread() async throws {
        let (pushed, pushTime) = try await sync(first, .serverWins, total: data.count)
        report.rates.pushedPerSecond = Self.rate(pushed.pushedRecords, pushTime)
        let (pulled, pullTime) = try await sync(second, .serverWins, total: data.count)
        report.rates.pulledPerSecond = Self.rate(pulled.pulledRecords, pullTime)
        let limits = await first.service.limits
        tell("")
        tell("2. Device A goes online, then device B. The service is \(cloud.title).")
        tell(
            "   A pushed \(pushed.pushedRecords.grouped) records in requests of "
                + "\(limits.operationsPerRequest): \(report.rates.pushedPerSecond.grouped) "
                + "records/s.")
        tell(
            "   B pulled \(pulled.pulledRecords.grouped) records in pages of "
                + "\(limits.recordsPerPage.grouped): \(report.rates.pulledPerSecond.grouped) records/s."
        )
    }

    /// Runs a round of a device and shows how far it is.
    func sync(
        _ device: DemoDevice, _ policy: ConflictPolicy, total: Int = 0
    ) async throws -> (report: SyncReport, time: Duration) {
        try checkInterruption()
        let engine = device.engine(policy)
        let bar = console.progress("Synchronising \(device.name)")
        defer { bar.finish() }
        async let watching: Void = Self.follow(engine.events, bar, total: total)
        let start = clock.now
        let report = try await engine.sync()
        let time = clock.now - start
        await engine.stop()
        await watching
        return (report, time)
    }

    private static func follow(_ events: SyncEventStream, _ bar: Progress, total: Int) async {
        for await event in events {
            switch event {
            case .progress(let pulled, let pushed, _):
                bar.update(done: pulled + pushed, total: total)
            case .finished, .failed: return
            default: break
            }
        }
    }

    // MARK: Tools

    /// Ends the story early, so that its stores are removed, when the program is asked to end.
    func checkInterruption() throws {
        if interruption.hasHappened { throw CancellationError() }
    }

    private static func save(
        _ record: some Entity, _ transaction: borrowing WriteTransaction
    ) throws {
        try transaction.save(record)
    }

    /// The transactions that a number of records is saved in.
    static func parts(of count: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: recordsPerTransaction).map {
            $0..<min($0 + recordsPerTransaction, count)
        }
    }

    static func rate(_ count: Int, _ time: Duration) -> Int {
        time > .zero ? Int((Double(count) / (time / .seconds(1))).rounded()) : 0
    }
}
